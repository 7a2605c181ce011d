import type { Pseudonyms } from "./pseudonyms.ts"

const V4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(\/\d{1,2})?$/
const V6 = /^(?=.*:.*:)[0-9a-fA-F:]+(\/\d{1,3})?$/

/** Whether a text is an address, or a range of addresses. */
export const isAddress = (text: string): boolean => V4.test(text) || V6.test(text)

/**
 * Replaces an address or a range. Private ones change where one organization differs from another, and stay in the same
 * ranges: a pod's address is still in its node's range. Public ones become addresses for tests (RFC 2544, RFC 3849).
 */
export function otherAddress(text: string, pseudonyms: Pseudonyms): string {
  const v4 = V4.exec(text)
  if (v4 === null) return otherV6(text, pseudonyms)
  const [a, b, c, d] = v4.slice(1, 5).map(Number) as [number, number, number, number]
  const range = v4[5] ?? ""
  const xor = (place: string, value: number, mask = 0xff) => value ^ (pseudonyms.bytes(`ip ${place}`)[0]! & mask)
  if (a === 0 || a === 127 || a >= 224 || (a === 169 && b === 254) || range === "/0") return text
  // A range of several of what changes would have another size.
  const bits = range === "" ? 32 : Number(range.slice(1))
  if (a === 10) return bits < 16 ? text : `10.${xor("10", b)}.${c}.${d}${range}`
  if (a === 172 && b >= 16 && b < 32) return bits < 16 ? text : `172.${16 + xor("172", b - 16, 0x0f)}.${c}.${d}${range}`
  if (a === 192 && b === 168) return bits < 24 ? text : `192.168.${xor("192", c)}.${d}${range}`
  const bytes = pseudonyms.bytes(`ip ${a}.${b}.${c}.${d}`)
  return `198.${18 + (bytes[0]! & 1)}.${bytes[1]}.${bits === 32 ? bytes[2] : 0}${range === "" ? "" : `/${Math.max(bits, 24)}`}`
}

function otherV6(text: string, pseudonyms: Pseudonyms): string {
  if (text === "::" || text === "::1" || text.startsWith("::/") || /^fe80:/i.test(text)) return text
  const first = text.split(":", 1)[0]!.toLowerCase()
  const word = (place: string) => Buffer.from(pseudonyms.bytes(`ip ${place}`)).toString("hex", 0, 2)
  // The first word of a private network (RFC 4193) has a random part; the rest says where in it.
  if (/^f[cd][0-9a-f]{2}$/.test(first)) return `fd${word(first).slice(0, 2)}${text.slice(4)}`
  return `2001:db8:${word(text)}::${word(`${text} host`)}`
}
