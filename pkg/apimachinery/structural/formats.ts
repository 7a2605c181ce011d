import { isIP, isIPv6 } from "node:net"
import { withoutLeadingZeros } from "../validation/names.ts"

/**
 * The formats of strings in schemas; unknown formats are not checked. Source: kube-openapi pkg/validation/strfmt,
 * apiextensions-apiserver pkg/apiserver/validation/formats.go.
 */
type Format = (text: string) => boolean

/** Longer strings match none of the formats whose patterns need backtracking. */
const LONGEST = 4096
const matching =
  (pattern: RegExp, longest = LONGEST): Format =>
  (text) =>
    text.length <= longest && pattern.test(text)

const HOSTNAME =
  /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u
const isHostname: Format = (text) =>
  text.length <= 255 && HOSTNAME.test(text) && text.split(".").every((label) => Buffer.byteLength(label) <= 63)

const uuid = (version: string, variant = "[0-9a-f]"): Format =>
  matching(new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, "i"))

const isIPv4Format: Format = (text) => text.includes(".") && isIP(withoutLeadingZeros(text)) !== 0
const isIPv6Format: Format = (text) => text.includes(":") && !text.includes("%") && isIPv6(text)

function isCidr(text: string): boolean {
  const slash = text.indexOf("/")
  if (slash < 0) return false
  const version = isIP(withoutLeadingZeros(text.slice(0, slash)))
  const bits = text.slice(slash + 1)
  return version !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128)
}

const isDate = (text: string): boolean => {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (match === null) return false
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number]
  return (
    month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(2000, month, 0)).getUTCDate() - leap(year, month)
  )
}
/** Returns 1 for a February with 28 days; the year 2000 has 29. */
const leap = (year: number, month: number): number =>
  month === 2 && !(year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)) ? 1 : 0

function isDateTime(text: string): boolean {
  const [date, time] = text.toLowerCase().split("t")
  if (date === undefined || time === undefined || !isDate(date)) return false
  const match = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$/.exec(time)
  return match !== null && match[1]! <= "23" && match[2]! <= "59" && match[3]! <= "59"
}

const GO_DURATION = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/
const UNIT = /^(?:(?:ns|us|µs|ms|s|m|h|hr|d|w|wk)$|nano|micro|milli|sec|min|hour|day|week)/i
const isDuration: Format = (text) => {
  if (text.length > LONGEST) return false
  if (GO_DURATION.test(text)) return true
  for (const [, factor, unit] of text.matchAll(/(\d{1,30})\s{0,30}([A-Za-zµ]{1,30})/g))
    if (Number(factor) > Number.MAX_SAFE_INTEGER) return false
    else if (UNIT.test(unit!)) return true
  return false
}

/** Whether Go's url.ParseRequestURI accepts the text: an absolute path, or a scheme with anything after it. */
function isUri(text: string): boolean {
  if (
    text === "" ||
    /[\u0000-\u0020\u007f]/.test(text.split("?")[0]!) ||
    /%(?![0-9a-fA-F]{2})/.test(text.split("?")[0]!)
  )
    return false
  if (text.startsWith("/")) return true
  const match = /^([a-zA-Z][a-zA-Z0-9+.-]*):(.*)$/s.exec(text)
  if (match === null) return false
  const authority = /^\/\/([^/?#]*)/.exec(match[2]!)?.[1]
  return authority === undefined || /^(?:[^@]*@)?(?:\[[0-9a-fA-F:.%]*\]|[^[\]:]*)(?::\d*)?$/.test(authority)
}

const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\u0080-\\uffff-]+"
const ADDRESS = `(?:${ATOM}(?:\\.${ATOM})*|"(?:[^"\\\\\\r\\n]|\\\\.)*")@(?:${ATOM}(?:\\.${ATOM})*|\\[[^\\[\\]\\\\]*\\])`
const isEmail = matching(new RegExp(`^\\s*(?:${ADDRESS}|[^<>"@]*<${ADDRESS}>|"[^"]*"\\s*<${ADDRESS}>)\\s*$`))

const digitsOf = (text: string): string => text.replace(/[\s-]+/g, "")
const isIsbn10: Format = (text) => {
  const digits = digitsOf(text)
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false
  const sum = Array.from(digits).reduce((total, digit, i) => total + (i + 1) * (digit === "X" ? 10 : Number(digit)), 0)
  return sum % 11 === 0
}
const isIsbn13: Format = (text) => {
  const digits = digitsOf(text)
  if (!/^[0-9]{13}$/.test(digits)) return false
  return Array.from(digits).reduce((total, digit, i) => total + Number(digit) * (i % 2 === 0 ? 1 : 3), 0) % 10 === 0
}
const CARD =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}|6[27][0-9]{14})$/
const isCreditCard: Format = (text) => {
  const digits = text.replace(/[^0-9]+/g, "")
  if (!CARD.test(digits)) return false
  const sum = Array.from(digits)
    .reverse()
    .reduce((total, digit, i) => {
      const value = Number(digit) * (i % 2 === 1 ? 2 : 1)
      return total + (value > 9 ? value - 9 : value)
    }, 0)
  return sum % 10 === 0
}

/** By name without dashes. */
const FORMATS: Readonly<Record<string, Format>> = {
  bsonobjectid: matching(/^[0-9a-fA-F]{24}$/),
  uri: isUri,
  email: isEmail,
  hostname: isHostname,
  ipv4: isIPv4Format,
  ipv6: isIPv6Format,
  cidr: isCidr,
  mac: matching(
    /^(?:[0-9a-f]{2}(?::[0-9a-f]{2}){5}|[0-9a-f]{2}(?::[0-9a-f]{2}){7}|[0-9a-f]{2}(?::[0-9a-f]{2}){19}|[0-9a-f]{2}(?:-[0-9a-f]{2}){5}|[0-9a-f]{2}(?:-[0-9a-f]{2}){7}|[0-9a-f]{2}(?:-[0-9a-f]{2}){19}|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}|[0-9a-f]{4}(?:\.[0-9a-f]{4}){3}|[0-9a-f]{4}(?:\.[0-9a-f]{4}){9})$/i,
  ),
  uuid: uuid("[0-9a-f]"),
  uuid3: uuid("3"),
  uuid4: uuid("4", "[89ab]"),
  uuid5: uuid("5", "[89ab]"),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: matching(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/),
  hexcolor: matching(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/),
  rgbcolor: matching(
    /^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$/,
  ),
  byte: (text) =>
    text !== "" && /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/.test(text),
  password: () => true,
  date: isDate,
  duration: isDuration,
  datetime: isDateTime,
  k8sshortname: matching(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 63),
  k8slongname: matching(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/, 253),
}

/** Returns the check of a format; undefined for an unknown format, which is not checked. */
export const textFormat = (format: string): Format | undefined => {
  const name = format.replaceAll("-", "")
  return Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined
}

/** Whether a format applies to values of a type. */
export function isKnownFormat(format: string, type: string | undefined): boolean {
  switch (type) {
    case undefined:
    case "":
    case "string":
      return textFormat(format) !== undefined
    case "integer":
      return format === "int32" || format === "int64"
    case "number":
      return format === "float" || format === "double"
    default:
      return false
  }
}
