import { Transform, type TransformCallback } from "node:stream"

/** Attributes that hold an address, by element. Source: apimachinery pkg/util/proxy/transport.go atomsToAttrs. */
const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  a: ["href"],
  applet: ["codebase"],
  area: ["href"],
  audio: ["src"],
  base: ["href"],
  blockquote: ["cite"],
  body: ["background"],
  button: ["formaction"],
  command: ["icon"],
  del: ["cite"],
  embed: ["src"],
  form: ["action"],
  frame: ["longdesc", "src"],
  head: ["profile"],
  html: ["manifest"],
  iframe: ["longdesc", "src"],
  img: ["longdesc", "src", "usemap"],
  input: ["src", "usemap", "formaction"],
  ins: ["cite"],
  link: ["href"],
  object: ["classid", "codebase", "data", "usemap"],
  q: ["cite"],
  script: ["src"],
  source: ["src"],
  video: ["poster", "src"],
}

/** Elements whose content is text even if it looks like tags. Source: golang.org/x/net/html tokenizer. */
const TEXT_ELEMENTS: ReadonlySet<string> = new Set([
  "iframe",
  "noembed",
  "noframes",
  "noscript",
  "plaintext",
  "script",
  "style",
  "textarea",
  "title",
  "xmp",
])

/** A longer tag is passed on unchanged, so that a page with an unclosed tag does not fill the memory. */
const LONGEST_TAG = 16 * 1024

const ATTRIBUTE = /([\s/])([a-z-]+)(\s*=\s*)("[^"]*"|'[^']*'|[^\s>"']+)/gi

/**
 * Rewrites the addresses in the tags of a page while it streams through. Only an incomplete tag is held back. It works
 * on bytes, because everything it searches for is ASCII.
 */
export class HtmlLinks extends Transform {
  /** Characters that cannot be processed before more have come. */
  #held = ""
  /**
   * What ends the text that is passed on unchanged now: `-->` in a comment, the end tag in an element of text; else
   * undefined.
   */
  #until: string | undefined
  readonly #rewrite: (address: string) => string

  constructor(rewrite: (address: string) => string) {
    super()
    this.#rewrite = rewrite
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    const text = this.#held + chunk.toString("latin1")
    const [done, out] = this.#judge(text)
    this.#held = text.slice(done)
    callback(null, Buffer.from(out, "latin1"))
  }

  override _flush(callback: TransformCallback): void {
    callback(null, Buffer.from(this.#held, "latin1"))
  }

  /** Processes the text; returns how many characters are done, and their replacement. */
  #judge(text: string): readonly [number, string] {
    let at = 0
    let out = ""
    while (at < text.length) {
      if (this.#until !== undefined) {
        const end = indexOfIgnoringCase(text, this.#until, at)
        // The last characters may be the beginning of `#until`.
        const stop = end < 0 ? Math.max(at, text.length - this.#until.length + 1) : end
        out += text.slice(at, stop)
        at = stop
        if (end < 0) break
        this.#until = undefined
        // The end tag itself is read like any other tag.
        out += text[at] ?? ""
        at++
        continue
      }
      const open = text.indexOf("<", at)
      if (open < 0) return [text.length, out + text.slice(at)]
      out += text.slice(at, open)
      at = open
      if (text.length - at < 4) break
      if (text.startsWith("<!--", at)) {
        out += "<!--"
        at += 4
        this.#until = "-->"
        continue
      }
      if (!/[a-z]/i.test(text[at + 1]!)) {
        out += "<"
        at++
        continue
      }
      const end = endOfTag(text, at + 1)
      if (end < 0) {
        // All characters are passed on, so that none is read again in search of the tag's end.
        if (text.length - at > LONGEST_TAG) return [text.length, out + text.slice(at)]
        break
      }
      const tag = text.slice(at, end)
      const name = /^[a-z][^\s/>]*/i.exec(tag.slice(1))![0].toLowerCase()
      out += this.#rewritten(tag, name)
      at = end
      if (TEXT_ELEMENTS.has(name) && !tag.endsWith("/>")) this.#until = `</${name}`
    }
    return [at, out]
  }

  #rewritten(tag: string, element: string): string {
    const attributes = Object.hasOwn(ADDRESSES, element) ? ADDRESSES[element]! : []
    if (attributes.length === 0) return tag
    return tag.replace(ATTRIBUTE, (whole: string, before: string, name: string, equals: string, value: string) => {
      if (!attributes.includes(name.toLowerCase())) return whole
      const quote = value[0] === '"' || value[0] === "'" ? value[0] : ""
      const address = quote === "" ? value : value.slice(1, -1)
      return `${before}${name}${equals}${quote}${this.#rewrite(address)}${quote}`
    })
  }
}

/** The index after the `>` of a tag, or -1 when it has not come. A `>` within quotes is part of a value. */
function endOfTag(text: string, from: number): number {
  let quote = 0
  for (let i = from; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (quote !== 0) {
      if (char === quote) quote = 0
    } else if (char === 34 || char === 39) quote = char
    else if (char === 62) return i + 1
  }
  return -1
}

/** As indexOf, ignoring case. `wanted` is in lower case and begins with a character that has no case. */
function indexOfIgnoringCase(text: string, wanted: string, from: number): number {
  for (let at = text.indexOf(wanted[0]!, from); at >= 0; at = text.indexOf(wanted[0]!, at + 1))
    if (text.slice(at, at + wanted.length).toLowerCase() === wanted) return at
  return -1
}
