/** A header of HTTP/1.1 or HTTP/2, or a trailer. */
export interface Field {
  /** The name as it was sent. */
  readonly name: string
  /** The name in lower case. */
  readonly key: string
  readonly value: string
}

/** How the end of a body is found. `close`: the body ends with the connection, which is only allowed for responses. */
export type Framing =
  | { readonly kind: "none" | "chunked" | "close" }
  | { readonly kind: "length"; readonly length: number }

export interface RequestHead {
  readonly method: string
  /** Path and query; `*` for OPTIONS of the whole server. */
  readonly target: string
  /** The host as the client sent it, with its port. */
  readonly authority: string
  /** The host in lower case, without port and without a dot at its end. */
  readonly host: string
  readonly minorVersion: 0 | 1
  readonly fields: readonly Field[]
  readonly framing: Framing
  readonly keepAlive: boolean
  /** The protocol to which the client wants to switch. */
  readonly upgrade: string | undefined
  readonly expectsContinue: boolean
}

export interface ResponseHead {
  readonly status: number
  readonly reason: string
  readonly fields: readonly Field[]
  readonly framing: Framing
  readonly keepAlive: boolean
}

/** A message that violates the protocol, with the status of the response to its sender. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage"
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}
const bad = (message: string): MalformedMessage => new MalformedMessage(400, message)

/** Matches characters that are not allowed in a head, and incomplete line ends. */
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/
const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/
/** A fragment (#) is never sent, and servers disagree on whether it belongs to the path. */
const TARGET = /^[\x21\x22\x24-\x7e\x80-\xff]+$/
const AUTHORITY = /^(?:[\w.~-]*|\[[\da-f:.]+\])(?::\d{0,5})?$/i
const MOST_FIELDS = 200

/**
 * Parses the head of a request: the text before the empty line, as latin1. It is strict where lenient servers could
 * disagree on where a request ends: two Host headers, a Content-Length that is duplicate, invalid or beside a
 * Transfer-Encoding, continued lines, space before a colon, a lone CR or LF. Source: RFC 9112. @throws MalformedMessage
 */
export function parseRequestHead(text: string): RequestHead {
  if (FORBIDDEN.test(text)) throw bad("the head has a character that is not allowed")
  const lineEnd = endOfLine(text)
  const first = text.indexOf(" ")
  const second = text.indexOf(" ", first + 1)
  if (first <= 0 || second < 0 || second > lineEnd) throw bad("the first line is not that of a request")
  const method = text.slice(0, first)
  const version = text.slice(second + 1, lineEnd)
  if (!TOKEN.test(method)) throw bad("the method is no token")
  if (version !== "HTTP/1.1" && version !== "HTTP/1.0") {
    throw /^HTTP\/\d\.\d$/.test(version)
      ? new MalformedMessage(505, "only HTTP/1.0 and HTTP/1.1 are supported here")
      : bad("the first line is not that of a request")
  }
  const minorVersion = version === "HTTP/1.1" ? 1 : 0
  const fields = parseFields(text, lineEnd + 2)
  const about = readFields(fields, minorVersion)
  const { target, authority = about.host ?? "" } = splitTarget(method, text.slice(first + 1, second))
  if (about.host === undefined && minorVersion === 1) throw bad("the header Host is missing")
  if (!AUTHORITY.test(authority)) throw bad("the host is no name or address")
  return {
    method,
    target,
    authority,
    host: hostOf(authority),
    minorVersion,
    fields,
    framing: about.framing ?? { kind: "none" },
    keepAlive: about.keepAlive,
    upgrade: minorVersion === 1 && about.isUpgrade ? about.upgrade : undefined,
    expectsContinue: minorVersion === 1 && about.expectsContinue,
  }
}

/** Parses the head of a response to a request with `method`. @throws MalformedMessage */
export function parseResponseHead(text: string, method: string): ResponseHead {
  if (FORBIDDEN.test(text)) throw bad("the head has a character that is not allowed")
  const lineEnd = endOfLine(text)
  const match = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/.exec(text.slice(0, lineEnd))
  if (match === null) throw bad("the first line is not that of an answer")
  const status = Number(match[2])
  const fields = parseFields(text, lineEnd + 2)
  const about = readFields(fields, match[1] === "1" ? 1 : 0)
  const hasBody = method !== "HEAD" && status >= 200 && status !== 204 && status !== 304
  const framing: Framing = hasBody ? (about.framing ?? { kind: "close" }) : { kind: "none" }
  return {
    status,
    reason: text.slice(13, lineEnd),
    fields,
    framing,
    keepAlive: about.keepAlive && framing.kind !== "close",
  }
}

/**
 * Returns a text without spaces and tabs at its ends, the only characters that HTTP ignores there; `trim` also drops
 * others, such as the byte A0, which a backend takes for a part of the value. Source: RFC 9110, 5.6.3.
 */
export function withoutSpace(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isSpace(text.charCodeAt(start))) start++
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}
const isSpace = (code: number): boolean => code === 0x20 || code === 0x09

/** Returns the end of the first line. */
function endOfLine(text: string): number {
  const end = text.indexOf("\r\n")
  return end < 0 ? text.length : end
}

/** Parses the fields of a head after `start`, or those of a trailer. @throws MalformedMessage */
export function parseFields(text: string, start: number): readonly Field[] {
  const fields: Field[] = []
  for (let at = start; at < text.length;) {
    let end = text.indexOf("\r\n", at)
    if (end < 0) end = text.length
    const colon = text.indexOf(":", at)
    const name = text.slice(at, colon < 0 || colon > end ? end : colon)
    if (colon < 0 || colon > end || !TOKEN.test(name)) throw bad("a header has no name, or space around it")
    if (fields.length === MOST_FIELDS) throw new MalformedMessage(431, `there are more than ${MOST_FIELDS} headers`)
    fields.push({ name, key: name.toLowerCase(), value: withoutSpace(text.slice(colon + 1, end)) })
    at = end + 2
  }
  return fields
}

interface About {
  host: string | undefined
  framing: Framing | undefined
  keepAlive: boolean
  isUpgrade: boolean
  upgrade: string | undefined
  expectsContinue: boolean
}

/** Reads what the fields say about the message and its connection. */
function readFields(fields: readonly Field[], minorVersion: 0 | 1): About {
  const about: About = {
    host: undefined,
    framing: undefined,
    keepAlive: minorVersion === 1,
    isUpgrade: false,
    upgrade: undefined,
    expectsContinue: false,
  }
  for (const { key, value } of fields) {
    switch (key) {
      case "host":
        if (about.host !== undefined) throw bad("there are two headers Host")
        about.host = value
        break
      case "content-length":
        if (about.framing !== undefined) throw bad("the length of the body is given twice")
        if (!/^\d{1,15}$/.test(value)) throw bad("Content-Length is no number")
        about.framing = { kind: "length", length: Number(value) }
        break
      case "transfer-encoding":
        if (about.framing !== undefined) throw bad("the length of the body is given twice")
        if (minorVersion === 0) throw bad("HTTP/1.0 has no Transfer-Encoding")
        if (!value.split(",").every((coding) => TOKEN.test(withoutSpace(coding))))
          throw bad("Transfer-Encoding is no list of names")
        if (value.toLowerCase() !== "chunked")
          throw new MalformedMessage(501, "only chunked is a Transfer-Encoding here")
        about.framing = { kind: "chunked" }
        break
      case "connection":
        for (const option of value.toLowerCase().split(",")) {
          if (withoutSpace(option) === "close") about.keepAlive = false
          else if (withoutSpace(option) === "upgrade") about.isUpgrade = true
        }
        break
      case "upgrade":
        about.upgrade = passedOn(value)
        break
      case "expect":
        if (value.toLowerCase() !== "100-continue") throw new MalformedMessage(417, "only 100-continue can be expected")
        about.expectsContinue = true
        break
    }
  }
  return about
}

/**
 * Returns the protocols of an Upgrade header without versions of HTTP: after a switch to one of these, requests could
 * reach the backend past the rules of all Ingresses.
 */
function passedOn(upgrade: string): string | undefined {
  const protocols = upgrade.split(",").map(withoutSpace)
  const kept = protocols.filter((each) => each !== "" && !/^(?:h2c?|https?|tls)(?:\/|$)/i.test(each))
  return kept.length === 0 ? undefined : kept.join(", ")
}

/**
 * Splits a request target. The absolute form, which is for proxies, names the host again. @throws MalformedMessage for
 * CONNECT and invalid targets
 */
function splitTarget(method: string, target: string): { readonly target: string; readonly authority?: string } {
  if (!TARGET.test(target)) throw bad("the target of the request has a character that is not allowed")
  // After CONNECT a server that takes it passes on bytes, where this proxy would send the next request.
  if (method === "CONNECT") throw bad("CONNECT is not served here")
  if (target.startsWith("/")) return { target }
  if (target === "*" && method === "OPTIONS") return { target }
  const [, authority, rest = ""] = /^https?:\/\/([^/?#]+)(.*)$/i.exec(target) ?? []
  if (authority === undefined) throw bad("the target of the request is no path")
  return { authority, target: rest.startsWith("/") ? rest : `/${rest}` }
}

/** Returns the host in an authority, in the form of routes. */
export function hostOf(authority: string): string {
  const end = authority.startsWith("[") ? authority.indexOf("]") + 1 : authority.indexOf(":")
  const name = (end > 0 || authority.startsWith(":") ? authority.slice(0, end) : authority).toLowerCase()
  return name.endsWith(".") ? name.slice(0, -1) : name
}

export const isToken = (text: string): boolean => TOKEN.test(text)
/** Whether a text is valid as the value of a field. */
export const isValue = (text: string): boolean => !/[\0-\x08\x0a-\x1f\x7f]/.test(text)
export const isTarget = (text: string): boolean => TARGET.test(text)
export const isAuthority = (text: string): boolean => AUTHORITY.test(text)
