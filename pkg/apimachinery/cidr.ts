import { isIPv6 } from "node:net"
import { isCIDR, isIPAddress } from "./names.ts"

/** An address as a number of its family. */
export interface Address {
  readonly family: "IPv4" | "IPv6"
  readonly number: bigint
}

/** A network of addresses: those between its own address and the last one, both included. */
export interface Network {
  readonly family: "IPv4" | "IPv6"
  readonly first: bigint
  readonly last: bigint
}

/** Nothing for what is no address. */
export function parseAddress(text: string): Address | undefined {
  if (isIPAddress(text) !== undefined) return undefined
  if (!isIPv6(text)) return { family: "IPv4", number: text.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n) }
  // A URL shows an address in its canonical form, which has hexadecimal groups only.
  const [head = "", tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split("::")
  const groups = (part: string) => (part === "" ? [] : part.split(":"))
  const [before, after] = [groups(head), groups(tail ?? "")]
  const all = tail === undefined ? before : [...before, ...Array<string>(8 - before.length - after.length).fill("0"), ...after]
  return { family: "IPv6", number: all.reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n) }
}

/** Nothing for what is no network in CIDR form. */
export function parseNetwork(cidr: string): Network | undefined {
  if (isCIDR(cidr) !== undefined) return undefined
  const [text = "", bits = ""] = cidr.split("/")
  const { family, number } = parseAddress(text)!
  const size = 1n << BigInt((family === "IPv4" ? 32 : 128) - Number(bits))
  const first = number - (number % size)
  return { family, first, last: first + size - 1n }
}

export const overlaps = (a: Network, b: Network): boolean => a.family === b.family && a.first <= b.last && b.first <= a.last

/** Whether all of `inner` lies in `outer`. */
export const covers = (outer: Network, inner: Network): boolean => outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last

/** Whether an address may be given out of a network: its own address may not be, nor the broadcast address. Source: pkg/api/servicecidr PrefixContainsIP. */
export const holds = ({ family, first, last }: Network, address: Address): boolean =>
  address.family === family && address.number > first && (family === "IPv4" ? address.number < last : address.number <= last)
