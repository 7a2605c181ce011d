import { isIPv4 } from "node:net"

/** A range of IPv4 addresses. */
export interface Cidr {
  /** The first address, as a number. */
  readonly base: number
  readonly prefix: number
  /** The number of addresses. */
  readonly size: number
}

/** Undefined for an invalid range, and for one with bits set behind the prefix. */
export function parseCidr(text: string): Cidr | undefined {
  const [, address = "", bits = ""] = /^([\d.]+)\/(\d{1,2})$/.exec(text) ?? []
  const prefix = Number(bits)
  if (!isIPv4(address) || prefix > 32) return undefined
  const size = 2 ** (32 - prefix)
  const base = addressNumber(address)
  return base % size === 0 ? { base, prefix, size } : undefined
}

const addressNumber = (address: string): number => address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0)
export const addressText = (number: number): string =>
  [24, 16, 8, 0].map((shift) => (number / 2 ** shift) & 255).join(".")

export const contains = ({ base, size }: Cidr, address: string): boolean =>
  addressNumber(address) >= base && addressNumber(address) < base + size
export const overlap = (a: Cidr, b: Cidr): boolean => a.base < b.base + b.size && b.base < a.base + a.size

/** Returns the `index`th address of the range: 10 of 10.43.0.0/16 is 10.43.0.10. */
export const addressAt = ({ base }: Cidr, index: number): string => addressText(base + index)
