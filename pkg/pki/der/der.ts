/**
 * Writes and walks over the part of DER (ITU-T X.690) that X.509 certificates need.
 *
 * Why not a library: `@peculiar/x509` takes 12 ms (compiled) to 85 ms (from source) to load and 14 MB of memory, needs
 * a `Reflect` polyfill and signs asynchronously, while this makes a whole certificate authority in well under a
 * millisecond. `node:crypto` reads and verifies certificates.
 */
import { pushAll } from "../../lists/push-all.ts"

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const

/**
 * Returns one value: tag, length, content. `tag` is the whole identifier octet (numbers above 30 do not occur in
 * certificates).
 */
function tlv(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = content.length === 1 ? content[0]! : Buffer.concat(content)
  return Buffer.concat([Buffer.from([tag, ...lengthOctets(body.length)]), body])
}

export const sequence = (...items: readonly Uint8Array[]): Buffer => tlv(TAG.sequence, ...items)
export const set = (...items: readonly Uint8Array[]): Buffer => tlv(TAG.set, ...items)
export const octetString = (content: Uint8Array): Buffer => tlv(TAG.octetString, content)
export const bitString = (content: Uint8Array, unusedBits = 0): Buffer =>
  tlv(TAG.bitString, Buffer.from([unusedBits]), content)
export const utf8String = (text: string): Buffer => tlv(TAG.utf8String, Buffer.from(text, "utf8"))
export const NULL: Buffer = tlv(TAG.null)
export const boolean = (value: boolean): Buffer => tlv(TAG.boolean, Buffer.from([value ? 0xff : 0x00]))
/** Returns a context-specific, constructed value: `[n] EXPLICIT`. */
export const explicit = (number: number, ...content: readonly Uint8Array[]): Buffer => tlv(0xa0 | number, ...content)
/** Returns a context-specific, primitive value: `[n] IMPLICIT` of a string. */
export const implicit = (number: number, content: Uint8Array): Buffer => tlv(0x80 | number, content)

/** Returns an unsigned integer from its bytes, most significant first. */
export function integer(bytes: Uint8Array): Buffer {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const trimmed = bytes.subarray(start)
  // A set top bit would mean a negative number.
  return (trimmed[0] ?? 0) >= 0x80 ? tlv(TAG.integer, Buffer.from([0]), trimmed) : tlv(TAG.integer, trimmed)
}

/** Returns an object identifier from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number)
  const octets = [first * 40 + second]
  for (const arc of rest) {
    const base128 = [arc & 0x7f]
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      base128.unshift((left & 0x7f) | 0x80)
    pushAll(octets, base128)
  }
  return tlv(TAG.oid, Buffer.from(octets))
}

/**
 * Returns a time of validity in whole seconds: UTCTime up to 2049 and GeneralizedTime from 2050 on, as RFC 5280 4.1.2.5
 * demands.
 */
export function time(at: Date): Buffer {
  const digits = at.toISOString().replace(/[-:T]|\.\d+/g, "") // 20260102030405Z
  return at.getUTCFullYear() < 2050
    ? tlv(TAG.utcTime, Buffer.from(digits.slice(2)))
    : tlv(TAG.generalizedTime, Buffer.from(digits))
}

export interface DerValue {
  readonly tag: number
  readonly content: Buffer
}

/** Returns the values that follow one another in `bytes`. @throws RangeError when a length points past the end */
export function readAll(bytes: Buffer): DerValue[] {
  const values: DerValue[] = []
  let at = 0
  while (at < bytes.length) {
    const tag = bytes.readUInt8(at)
    let length = bytes.readUInt8(at + 1)
    at += 2
    if (length >= 0x80) {
      const octets = length & 0x7f
      length = bytes.readUIntBE(at, octets)
      at += octets
    }
    if (at + length > bytes.length)
      throw new RangeError(`Cannot read DER: value of ${length} bytes ends after the input`)
    values.push({ tag, content: bytes.subarray(at, at + length) })
    at += length
  }
  return values
}

function lengthOctets(length: number): number[] {
  if (length < 0x80) return [length]
  const octets: number[] = []
  for (let left = length; left > 0; left = Math.floor(left / 256)) octets.unshift(left & 0xff)
  return [0x80 | octets.length, ...octets]
}
