/** Reads a source file just far enough for the rules: which modules it imports, and what of it is code. */

/** A file of the tree. */
export class SourceFile {
  /** Relative to the root of the repository, with forward slashes. */
  readonly path: string
  readonly text: string
  #code: string | undefined

  constructor(path: string, text: string) {
    this.path = path
    this.text = text
  }

  /** `codeOf` the text. Several rules read it, and it takes most of their time: so it is worked out once. */
  get code(): string {
    return (this.#code ??= codeOf(this.text))
  }
}

/** A place where a rule is broken. `mend` says what to write instead. */
export interface Violation {
  readonly path: string
  readonly line: number
  readonly message: string
  readonly mend: string
}

/** Whether only tests use it: a test itself, or what several of them share. */
export const isTest = (path: string): boolean => /\.(test|fixtures)\.ts$/.test(path)

/** The number, from 1, of the line at `offset`. */
export const lineAt = (text: string, offset: number): number => text.slice(0, offset).split("\n").length

/** Where a module is named: `import … from`, `import type`, `export … from`, `import("…")`, `require("…")`. */
export function importsOf({ text, code }: Pick<SourceFile, "text" | "code">): { specifier: string; line: number }[] {
  return [...code.matchAll(/(?<![.\w$])(?:from|import|require)\s*\(?\s*(["'`])/g)].map(
    ({ 0: match, 1: quote, index }) => {
      const start = index + match.length
      // The contents of strings are blank in `code` and have their old length, so the next quote ends the name.
      return { specifier: text.slice(start, code.indexOf(quote!, start)), line: lineAt(text, index) }
    },
  )
}

/** What `/` means after this: a division after a value, else the start of a regular expression. */
const REGEX_MAY_FOLLOW =
  /(?:^|[-+*%=<>!&|^~?:;,([{}]|\b(?:return|typeof|case|in|of|do|else|void|delete|await|yield|throw|new))\s*$/

/**
 * `text` with comments and the contents of strings and regular expressions turned into spaces. Lines and columns stay.
 */
export function codeOf(text: string): string {
  const out: string[] = []
  /** Where `out` ends in `text`. */
  let written = 0
  const blank = (from: number, to: number) => {
    out.push(text.slice(written, from), text.slice(from, to).replaceAll(/[^\n]/g, " "))
    written = to
  }
  /** For each template literal that we are inside of: how many braces within its `${` are open. */
  const templates: number[] = []
  /** Blanks template text from `start` to its closing backquote or the next `${`; returns where code goes on. */
  const skipTemplate = (start: number): number => {
    const end = endOf(text, start, TEMPLATE_TEXT)
    blank(start, end)
    if (text[end] !== "$") return end + 1
    templates.push(0)
    return end + 2
  }

  /** Where the last piece of code ended: what stands before it decides what a `/` is. */
  let lastCode = 0
  for (let i = 0; i < text.length;) {
    const plain = endOf(text, i, PLAIN)
    if (plain > i) {
      const code = text.slice(i, plain).trimEnd()
      if (code !== "") lastCode = i + code.length
      i = plain
      continue
    }
    const char = text[i]!
    const pair = char + (text[i + 1] ?? "")
    if (pair === "//" || pair === "/*") {
      const found = text.indexOf(pair === "//" ? "\n" : "*/", i + 2)
      const end = found < 0 ? text.length : found + (pair === "//" ? 0 : 2)
      blank(i, end)
      i = end
      continue
    }
    if (
      char === '"' ||
      char === "'" ||
      (char === "/" && REGEX_MAY_FOLLOW.test(text.slice(Math.max(0, lastCode - 12), lastCode)))
    ) {
      const end = endOf(text, i + 1, char === '"' ? DOUBLE_QUOTED : char === "'" ? SINGLE_QUOTED : REGEX)
      blank(i + 1, end)
      i = end + 1
    } else if (char === "`") {
      i = skipTemplate(i + 1)
    } else if (char === "}" && templates.at(-1) === 0) {
      templates.pop()
      i = skipTemplate(i + 1)
    } else {
      const braces = char === "{" ? 1 : char === "}" ? -1 : 0
      if (templates.length > 0) templates[templates.length - 1]! += braces
      i++
    }
    lastCode = i
  }
  return out.join("") + text.slice(written)
}

/** Code in which nothing begins or ends: neither a literal, nor a comment, nor a block. */
const PLAIN = /[^"'`/{}]*/y
/** What a literal holds before the character that ends it. A backslash takes the next character with it. */
const DOUBLE_QUOTED = /(?:\\[\s\S]|[^"\\\n])*/y
const SINGLE_QUOTED = /(?:\\[\s\S]|[^'\\\n])*/y
const TEMPLATE_TEXT = /(?:\\[\s\S]|\$(?!\{)|[^`\\$])*/y
/** A slash within a class in brackets does not end a regular expression. */
const REGEX = /(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])*/y

function endOf(text: string, start: number, contents: RegExp): number {
  contents.lastIndex = start
  return start + (contents.exec(text)?.[0].length ?? 0)
}
