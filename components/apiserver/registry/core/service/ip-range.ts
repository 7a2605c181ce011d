/** IPv4 addresses of a CIDR as numbers, and back. */
export interface IpRange {
  readonly cidr: string
  /** The network address. */
  readonly base: number
  /** The number of addresses, including the network and broadcast address. */
  readonly size: number
}

export function parseIpRange(cidr: string): IpRange {
  const [address = "", bits = ""] = cidr.split("/")
  const base = ipNumber(address)
  const length = Number(bits)
  if (base === undefined || !/^\d+$/.test(bits) || length < 8 || length > 30)
    throw new Error(`Cannot use ${cidr} as the service range: it must be an IPv4 network such as 10.43.0.0/16`)
  const size = 2 ** (32 - length)
  return { cidr, base: Math.floor(base / size) * size, size }
}

export function ipNumber(address: string): number | undefined {
  const parts = address.split(".")
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)) return undefined
  return parts.reduce((sum, part) => sum * 256 + Number(part), 0)
}

export const ipText = (address: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".")
