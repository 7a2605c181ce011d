import { isIPv6 } from "node:net"
import { quotedRune } from "../go-fmt/quote.ts"
import { timeFault, dateFault, dateTimeFault, durationFault, periodFault } from "./time-formats.ts"

/*
 * The formats of JSON Schema. Source of rules and messages: santhosh-tekuri/jsonschema v6 format.go. Differs from
 * upstream: what Go's own parsers say about addresses is said more briefly.
 */

/** Returns what is wrong with a text; undefined where nothing is. */
type Check = (text: string) => string | undefined

const strange = (text: string, allowed: RegExp): string | undefined => {
  const sign = Array.from(text).find((one) => !allowed.test(one))
  return sign === undefined ? undefined : `invalid character ${quotedRune(sign)}`
}

const jsonPointer: Check = (text) => {
  if (text === "") return undefined
  if (!text.startsWith("/")) return "not starting with /"
  return /~(?![01])/.test(text) ? "~ must be followed by 0 or 1" : undefined
}

const relativeJsonPointer: Check = (text) => {
  const [digits = ""] = /^\d*/.exec(text)!
  if (digits === "") return "must start with non-negative integer"
  if (digits.length > 1 && digits.startsWith("0")) return "starts with zero"
  const rest = text.slice(digits.length)
  return rest === "#" ? undefined : jsonPointer(rest)
}

const GROUPS = [8, 4, 4, 4, 12]
const uuid: Check = (text) => {
  const groups = text.split("-")
  if (groups.length !== GROUPS.length) return `must have ${GROUPS.length} elements`
  for (const [i, group] of groups.entries()) {
    if (group.length !== GROUPS[i]) return `element ${i + 1} must be ${GROUPS[i]} characters long`
    const sign = Array.from(group).find((one) => !/[0-9a-f]/i.test(one))
    if (sign !== undefined) return `non-hex character ${quotedRune(sign)}`
  }
  return undefined
}

const ipv4: Check = (text) => {
  const groups = text.split(".")
  if (groups.length !== 4) return "expected four decimals"
  for (const group of groups) {
    if (/^0./.test(group)) return "leading zeros"
    if (!/^[+-]?\d+$/.test(group)) return `strconv.Atoi: parsing ${JSON.stringify(group)}: invalid syntax`
    if (Number(group) < 0 || Number(group) > 255) return "decimal must be between 0 and 255"
  }
  return undefined
}

const ipv6: Check = (text) => {
  if (!text.includes(":")) return "missing colon"
  if (!isIPv6(text)) return `ParseAddr(${JSON.stringify(text)}): unable to parse IP`
  return text.includes("%") ? "zone id is not a part of ipv6 address" : undefined
}

const hostname: Check = (text) => {
  const name = text.replace(/\.$/, "")
  if (name.length > 253) return "more than 253 characters long"
  for (const label of name.split(".")) {
    if (label.length < 1 || label.length > 63) return "label must be 1 to 63 characters long"
    if (label.startsWith("-")) return "label starts with hyphen"
    if (label.endsWith("-")) return "label ends with hyphen"
    const fault = strange(label, /[a-z0-9-]/i)
    if (fault !== undefined) return fault
  }
  return undefined
}

const within = (what: string, fault: string | undefined) => (fault === undefined ? undefined : `${what}: ${fault}`)

const email: Check = (text) => {
  if (text.length > 254) return "more than 255 characters long"
  const at = text.lastIndexOf("@")
  if (at < 0) return "missing @"
  const [local, domain] = [text.slice(0, at), text.slice(at + 1)]
  if (local.length > 64) return "local part more than 64 characters long"
  if (local.length > 1 && local.startsWith('"')) {
    if (/[\\"]/.test(local.slice(1, -1))) return "backslash and quote are not allowed within quoted local part"
  } else {
    if (local.startsWith(".")) return "starts with dot"
    if (local.endsWith(".")) return "ends with dot"
    if (local.includes("..")) return "consecutive dots"
    const fault = strange(local, /[a-z0-9.!#$%&'*+\-/=?^_`{|}~]/i)
    if (fault !== undefined) return fault
  }
  const [, literal] = /^\[(.*)\]$/s.exec(domain) ?? []
  if (literal === undefined) return within("invalid domain", hostname(domain))
  return literal.startsWith("IPv6:")
    ? within("invalid ipv6 address", ipv6(literal.slice(5)))
    : within("invalid ipv4 address", ipv4(literal))
}

/** What cannot be an address: the characters and escapes that Go refuses. */
const urlFault: Check = (text) => {
  const parse = (message: string) => `parse ${JSON.stringify(text)}: ${message}`
  if (/[\u0000-\u001f\u007f]/.test(text)) return parse("net/url: invalid control character in URL")
  const badEscape = /%(?![0-9a-f]{2}).{0,2}/i.exec(text)?.[0]
  if (badEscape !== undefined) return parse(`invalid URL escape ${JSON.stringify(badEscape)}`)
  if (text.startsWith(":")) return parse("missing protocol scheme")
  const [segment = ""] = text.split(/[/?#]/)
  if (!/^[a-z][a-z0-9+.-]*:/i.test(segment) && segment.includes(":"))
    return parse("first path segment in URL cannot contain colon")
  const [, host = ""] = /^(?:[a-z][a-z0-9+.-]*:)?\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(text) ?? []
  if (/[\s<>"{}|\\^`]/.test(host))
    return parse(`invalid character ${JSON.stringify(/[\s<>"{}|\\^`]/.exec(host)![0])} in host name`)
  const [, literal] = /^\[(.*)\](?::\d*)?$/.exec(host) ?? []
  if (literal !== undefined) return within("invalid ipv6 address", ipv6(literal))
  const port = /:([^:]*)$/.exec(host)?.[1] ?? ""
  return /^\d*$/.test(port) ? undefined : parse(`invalid port ${JSON.stringify(`:${port}`)} after host`)
}

const uri: Check = (text) => urlFault(text) ?? (/^[a-z][a-z0-9+.-]*:/i.test(text) ? undefined : "relative url")
const uriReference: Check = (text) => (text.includes("\\") ? "contains \\" : urlFault(text))

const uriTemplate: Check = (text) => {
  const fault = urlFault(text)
  if (fault !== undefined) return fault
  const path = text.replace(/^[a-z][a-z0-9+.-]*:/i, "").replace(/^\/\/[^/?#]*/, "")
  for (const part of path.split(/[?#]/)[0]!.split("/")) {
    let isOpen = false
    for (const [sign] of part.matchAll(/[{}]/g)) {
      if ((sign === "{") === isOpen) return "nested curly braces"
      isOpen = !isOpen
    }
    if (isOpen) return "no matching closing brace"
  }
  return undefined
}

const semver: Check = (text) => {
  const [, versions = "", preRelease, build] = /^([^+-]*)(?:-([^+]*))?(?:\+(.*))?$/s.exec(text) ?? []
  if (build === "") return "build is empty"
  for (const [what, part] of [
    ["build", build],
    ["pre-release", preRelease],
  ] as const)
    for (const identifier of part?.split(".") ?? []) {
      if (identifier === "") return `${what} identifier is empty`
      const fault = strange(identifier, /[0-9a-z-]/i)
      if (fault !== undefined) return `${fault} in ${what} identifier`
      if (what === "pre-release" && /^0\d+$/.test(identifier)) return "pre-release numeric identifier starts with zero"
    }
  const numbers = versions.split(".")
  if (numbers.length !== 3) return "versionCore must have 3 numbers separated by dot"
  for (const [i, number] of numbers.entries()) {
    const name = ["major", "minor", "patch"][i]
    if (number === "") return `${name} is empty`
    if (/^0./.test(number)) return `${name} starts with zero`
    if (!/^\d+$/.test(number)) return `${name} contains non-digit`
  }
  return undefined
}

const FORMATS: Readonly<Record<string, Check>> = {
  "json-pointer": jsonPointer,
  "relative-json-pointer": relativeJsonPointer,
  uuid,
  duration: durationFault,
  period: periodFault,
  ipv4,
  ipv6,
  hostname,
  email,
  date: dateFault,
  time: timeFault,
  "date-time": dateTimeFault,
  uri,
  iri: uri,
  "uri-reference": uriReference,
  "iri-reference": uriReference,
  "uri-template": uriTemplate,
  semver,
}

/** Returns what is wrong with a text of a format; undefined where nothing is, and for a format that is not known. */
export const formatFault = (format: string, text: string): string | undefined =>
  Object.hasOwn(FORMATS, format) ? FORMATS[format]!(text) : undefined
