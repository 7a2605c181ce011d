import { isIP, isIPv6 } from "node:net"

export const FAMILIES = ["IPv4", "IPv6"] as const
export type Family = (typeof FAMILIES)[number]

/** The family of what is known to be an address or a network in CIDR form. */
export const familyOf = (text: string): Family => (text.includes(":") ? "IPv6" : "IPv4")

/** An address and a port in the form of URLs: `10.0.0.1:80`, `[fd00::1]:80`. */
export const joinHostPort = (host: string, port: number | string): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`

/** An address as a number of its family. */
export interface Address {
  readonly family: Family
  readonly number: bigint
}

/** A network of addresses: those between its own address and the last one, both included. */
export interface Network {
  readonly family: Family
  readonly first: bigint
  readonly last: bigint
}

/** The number of what is known to be an address. */
export function addressNumber(address: string): bigint {
  if (!isIPv6(address)) return address.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n)
  // A URL shows an address in its canonical form, which has hexadecimal groups only.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::")
  const groups = (part: string) => (part === "" ? [] : part.split(":"))
  const [before, after] = [groups(head), groups(tail ?? "")]
  const all =
    tail === undefined ? before : [...before, ...Array<string>(8 - before.length - after.length).fill("0"), ...after]
  return all.reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n)
}

/** An address in the form of RFC 5952, as a URL shows it. */
export const canonicalAddress = (address: string): string =>
  isIPv6(address) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address

/** Nothing for what is no address. */
export function parseAddress(text: string): Address | undefined {
  const version = text.includes("%") ? 0 : isIP(text)
  return version === 0 ? undefined : { family: version === 6 ? "IPv6" : "IPv4", number: addressNumber(text) }
}

/** Nothing for what is no network in CIDR form. An address with further bits stands for its network. */
export function parseNetwork(cidr: string): Network | undefined {
  const [text = "", bits = ""] = cidr.split("/")
  const address = parseAddress(text)
  if (address === undefined || !/^\d{1,3}$/.test(bits)) return undefined
  const { family, number } = address
  const left = (family === "IPv4" ? 32 : 128) - Number(bits)
  if (left < 0) return undefined
  const size = 1n << BigInt(left)
  const first = number - (number % size)
  return { family, first, last: first + size - 1n }
}

export const overlaps = (a: Network, b: Network): boolean =>
  a.family === b.family && a.first <= b.last && b.first <= a.last

/** Whether all of `inner` lies in `outer`. */
export const covers = (outer: Network, inner: Network): boolean =>
  outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last

/**
 * Whether an address may be given out of a network: its own address may not be, nor the broadcast address. Source:
 * pkg/api/servicecidr PrefixContainsIP.
 */
export const holds = ({ family, first, last }: Network, address: Address): boolean =>
  address.family === family &&
  address.number > first &&
  (family === "IPv4" ? address.number < last : address.number <= last)
