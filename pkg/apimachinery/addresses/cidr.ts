import { isIP, isIPv6 } from "node:net"

/** The address families, in the API's words. */
export const FAMILIES = ["IPv4", "IPv6"] as const
export type Family = (typeof FAMILIES)[number]

/** Returns the family of a valid address or CIDR range. */
export const familyOf = (text: string): Family => (text.includes(":") ? "IPv6" : "IPv4")

/** Joins an address and a port as in a URL: `10.0.0.1:80`, `[fd00::1]:80`. */
export const joinHostPort = (host: string, port: number | string): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`

/** An address as a number, with its family. */
export interface Address {
  readonly family: Family
  readonly number: bigint
}

/** A range of addresses from `first` to `last`, both included. */
export interface Network {
  readonly family: Family
  /** The number of bits that all its addresses share. */
  readonly prefix: number
  readonly first: bigint
  readonly last: bigint
}

/** The number of bits of an address. */
export const bitsOf = (family: Family): number => (family === "IPv4" ? 32 : 128)

/** Returns the number of a valid address. */
export function addressNumber(address: string): bigint {
  if (!address.includes(":")) return BigInt(address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0))
  // The URL parser writes an IPv6 address in canonical form, whose groups are all hexadecimal.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::")
  const groups = (part: string) => (part === "" ? [] : part.split(":"))
  const [before, after] = [groups(head), groups(tail ?? "")]
  const all =
    tail === undefined ? before : [...before, ...Array<string>(8 - before.length - after.length).fill("0"), ...after]
  return all.reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n)
}

/** Returns an address in the canonical form of RFC 5952, as a URL shows it. */
export const canonicalAddress = (address: string): string =>
  address.includes(":") && isIPv6(address) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address

/** Returns an address in canonical form: `10.43.0.1`, `fd43::1`. */
export function addressText({ family, number }: Address): string {
  if (family === "IPv4") {
    const n = Number(number)
    return `${(n >>> 24) & 255}.${(n >>> 16) & 255}.${(n >>> 8) & 255}.${n & 255}`
  }
  const groups = Array.from({ length: 8 }, (_, i) => ((number >> BigInt(112 - 16 * i)) & 0xffffn).toString(16))
  return canonicalAddress(groups.join(":"))
}

/** Returns the `index`th address of a network: 10 of 10.43.0.0/16 is 10.43.0.10. */
export const addressAt = ({ family, first }: Network, index: number): string =>
  addressText({ family, number: first + BigInt(index) })

/** Parses an address; undefined when the text is not one. */
export function parseAddress(text: string): Address | undefined {
  const version = text.includes("%") ? 0 : isIP(text)
  return version === 0 ? undefined : { family: version === 6 ? "IPv6" : "IPv4", number: addressNumber(text) }
}

/** Returns whether a valid address is an IPv4 address that is written as IPv6: `::ffff:192.0.2.1`. */
export const isMapped = (address: string): boolean => address.includes(":") && addressNumber(address) >> 32n === 0xffffn

/** Parses a range in CIDR form; undefined when the text is not one. Bits after the prefix are ignored. */
export function parseNetwork(cidr: string): Network | undefined {
  const [text = "", bits = ""] = cidr.split("/")
  const address = parseAddress(text)
  if (address === undefined || !/^\d{1,3}$/.test(bits)) return undefined
  const { family, number } = address
  const left = bitsOf(family) - Number(bits)
  if (left < 0) return undefined
  const size = 1n << BigInt(left)
  const first = number - (number % size)
  return { family, prefix: Number(bits), first, last: first + size - 1n }
}

export const overlaps = (a: Network, b: Network): boolean =>
  a.family === b.family && a.first <= b.last && b.first <= a.last

/** Returns whether an address is in the network. The network address and the broadcast address are. */
export const contains = ({ family, first, last }: Network, address: Address): boolean =>
  address.family === family && first <= address.number && address.number <= last

/** Whether `outer` contains all addresses of `inner`. */
export const covers = (outer: Network, inner: Network): boolean =>
  outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last

/**
 * Whether an address of the range can be allocated: not the network address, nor the broadcast address. Source:
 * pkg/api/servicecidr PrefixContainsIP.
 */
export const holds = ({ family, first, last }: Network, address: Address): boolean =>
  address.family === family &&
  address.number > first &&
  (family === "IPv4" ? address.number < last : address.number <= last)
