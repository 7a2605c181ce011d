import { isIPv4, isIPv6 } from "node:net"

/**
 * Returns the 4 or 16 bytes of an IP address, as in a subject alternative name.
 * @throws TypeError when `address` is not an IP address
 */
export function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number))
  if (!isIPv6(address))
    throw new TypeError(`Cannot put "${address}" into a certificate as an IP address: it is not one`)
  const [head = "", tail] = withoutDottedEnd(address.replace(/%.*$/, "")).split("::")
  const groups = (text: string | undefined) => (text ? text.split(":").map((group) => Number.parseInt(group, 16)) : [])
  const before = groups(head)
  const after = groups(tail)
  const zeros = new Array<number>(8 - before.length - after.length).fill(0)
  const bytes = Buffer.alloc(16)
  for (const [index, group] of [...before, ...zeros, ...after].entries()) bytes.writeUInt16BE(group, index * 2)
  return bytes
}

/** `::ffff:10.0.0.1` → `::ffff:a00:1` */
function withoutDottedEnd(address: string): string {
  const dotted = /\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.exec(address)?.[0]
  if (dotted === undefined) return address
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split(".").map(Number)
  return address.slice(0, -dotted.length) + `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}
