import { parseAddress } from "./cidr.ts"

/**
 * Whether an address belongs to one machine that other machines can reach: it is not unspecified, loopback, link-local,
 * multicast or broadcast. Private addresses count. An IPv4 address written as IPv6 (`::ffff:127.0.0.1`) is treated as
 * the IPv4 address. False for text that is not an address. Source: Go's net.IP.IsGlobalUnicast.
 */
export function isGlobalUnicast(text: string): boolean {
  const address = parseAddress(text)
  if (address === undefined) return false
  const { family, number } = address
  if (family === "IPv4") return isGlobalIPv4(number)
  if (number >> 32n === 0xffffn) return isGlobalIPv4(number & 0xffff_ffffn)
  const isLoopback = number === 1n
  const isLinkLocal = number >> 118n === 0xfe80n >> 6n
  const isMulticast = number >> 120n === 0xffn
  return number !== 0n && !isLoopback && !isLinkLocal && !isMulticast
}

function isGlobalIPv4(number: bigint): boolean {
  const first = number >> 24n
  const isLoopback = first === 127n
  const isLinkLocal = number >> 16n === 0xa9fen // 169.254
  const isMulticast = first >= 224n && first < 240n
  const isBroadcast = number === 0xffff_ffffn
  return number !== 0n && !isLoopback && !isLinkLocal && !isMulticast && !isBroadcast
}
