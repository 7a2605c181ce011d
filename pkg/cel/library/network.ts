import { isIP } from "node:net"
import {
  addressText,
  bitsOf,
  canonicalAddress,
  parseAddress,
  parseNetwork,
  type Address,
} from "../../apimachinery/addresses/cidr.ts"
import { isGlobalUnicast } from "../../apimachinery/addresses/global-unicast.ts"
import { NO_SUCH_OVERLOAD } from "../values/compare.ts"
import { BOOL, CIDR, INT, IP, STRING, type CelType } from "../type.ts"
import { CelError, OpaqueValue, type Value } from "../values/values.ts"
import { declare, member, overload, type FunctionDeclaration } from "./declare.ts"

/** Addresses and networks. Source: apiserver pkg/cel/library/{ip,cidr}.go. */

export class IpValue extends OpaqueValue {
  readonly type: CelType = IP
  /** In its canonical form. */
  readonly text: string
  readonly address: Address
  constructor(text: string, address: Address) {
    super()
    this.text = text
    this.address = address
  }
  equals(other: Value): boolean {
    return other instanceof IpValue && other.text === this.text
  }
  override get costSize(): number {
    return bitsOf(this.address.family) / 8
  }
}

export class CidrValue extends OpaqueValue {
  readonly type: CelType = CIDR
  /** The address as it was written, whose bits after the prefix may be set. */
  readonly ip: IpValue
  readonly prefix: number
  constructor(ip: IpValue, prefix: number) {
    super()
    this.ip = ip
    this.prefix = prefix
  }
  get text(): string {
    return `${this.ip.text}/${this.prefix}`
  }
  equals(other: Value): boolean {
    return other instanceof CidrValue && other.text === this.text
  }
  override get costSize(): number {
    return Math.ceil(this.prefix / 8)
  }
  /** Returns the bits of an address that the prefix covers; undefined for the other address family. */
  network({ family, number }: Address): bigint | undefined {
    return family === this.ip.address.family ? number >> BigInt(bitsOf(family) - this.prefix) : undefined
  }
}

/** Returns the message of Go's netip for a string that is not an address. */
function addressFault(text: string): string {
  const quoted = JSON.stringify(text)
  if (/^[0-9.]+$/.test(text) && text.includes(".")) {
    const fields = text.split(".")
    const empty = fields.indexOf("")
    if (empty >= 0) {
      const rest = fields.slice(empty).join(".")
      const place = rest === "" ? "" : ` (at ${JSON.stringify(rest)})`
      return `ParseAddr(${quoted}): IPv4 field must have at least one digit${place}`
    }
    if (fields.some((field) => /^0./.test(field))) return `ParseAddr(${quoted}): IPv4 field has octet with leading zero`
    if (fields.some((field) => Number(field) > 255)) return `ParseAddr(${quoted}): IPv4 field has value >255`
    return fields.length < 4
      ? `ParseAddr(${quoted}): IPv4 address too short`
      : `ParseAddr(${quoted}): IPv4 address too long`
  }
  const sign = /[.:%]/.exec(text)?.[0]
  if (sign === ".")
    return `ParseAddr(${quoted}): unexpected character (at ${JSON.stringify(/[^0-9.].*$/s.exec(text)?.[0])})`
  return `ParseAddr(${quoted}): ${sign === ":" ? ipv6Fault(text) : "unable to parse IP"}`
}

/** Returns the message about the first invalid group between colons. */
function ipv6Fault(text: string): string {
  let rest = text
  while (rest !== "") {
    const digits = /^[0-9a-fA-F]*/.exec(rest)![0]
    if (digits.length > 4) return `each group must have 4 or less digits (at ${JSON.stringify(rest)})`
    if (digits === "" && !rest.startsWith("::"))
      return `each colon-separated field must have at least one digit (at ${JSON.stringify(rest)})`
    rest = rest.slice(digits.length)
    if (rest !== "" && !rest.startsWith(":")) return `unexpected character, want colon (at ${JSON.stringify(rest)})`
    if (rest === ":") return 'colon must be followed by more characters (at ":")'
    rest = rest.startsWith("::") ? rest.slice(2) : rest.slice(1)
  }
  return text.includes("::") ? "trailing garbage after address" : "address string too short"
}

const isMapped = ({ family, number }: Address): boolean => family === "IPv6" && number >> 32n === 0xffffn

function parseIp(text: string): Value {
  const quoted = JSON.stringify(text)
  if (text.includes("%") && isIP(text.split("%")[0]!) === 6)
    return new CelError(`IP address ${quoted} with zone value is not allowed`)
  const address = parseAddress(text)
  if (address === undefined)
    return new CelError(`IP Address ${quoted} parse error during conversion from string: ${addressFault(text)}`)
  if (isMapped(address)) return new CelError(`IPv4-mapped IPv6 address ${quoted} is not allowed`)
  return new IpValue(canonicalAddress(text), address)
}

function parseCidrText(text: string): CidrValue | string {
  const failure = (reason: string): string =>
    `network address parse error during conversion from string: netip.ParsePrefix(${JSON.stringify(text)}): ${reason}`
  const slash = text.lastIndexOf("/")
  if (slash < 0) return failure("no '/'")
  const [address, bits] = [text.slice(0, slash), text.slice(slash + 1)]
  const parsed = parseAddress(address)
  if (parsed === undefined) return failure(addressFault(address))
  if (!/^(?:0|[1-9][0-9]*)$/.test(bits)) return failure(`bad bits after slash: ${JSON.stringify(bits)}`)
  if (parseNetwork(text) === undefined) return failure("prefix length out of range")
  if (isMapped(parsed)) return `IPv4-mapped IPv6 address ${JSON.stringify(text)} is not allowed`
  return new CidrValue(new IpValue(canonicalAddress(address), parsed), Number(bits))
}

function parseCidr(text: string): Value {
  const cidr = parseCidrText(text)
  return typeof cidr === "string"
    ? new CelError(`network address parse error during conversion from string: ${cidr}`)
    : cidr
}

function containsIp(cidr: CidrValue, ip: Value): Value {
  // As upstream, which drops the parse error of a string that is not an address.
  if (!(ip instanceof IpValue)) return NO_SUCH_OVERLOAD
  return cidr.network(ip.address) === cidr.network(cidr.ip.address)
}

function containsCidr(outer: CidrValue, inner: Value): Value {
  if (!(inner instanceof CidrValue)) return inner
  return outer.prefix <= inner.prefix && containsIp(outer, inner.ip) === true
}

function masked(cidr: CidrValue): Value {
  const { family } = cidr.ip.address
  const rest = BigInt(bitsOf(family) - cidr.prefix)
  const number = (cidr.ip.address.number >> rest) << rest
  return new CidrValue(new IpValue(addressText({ family, number }), { family, number }), cidr.prefix)
}

const ipTest = (name: string, id: string, holds: (ip: IpValue) => boolean): FunctionDeclaration =>
  declare(name, [member(id, [IP], BOOL, holds)])

/** Whether the first `bits` bits of an address equal those of `start`. */
const begins = ({ family, number }: Address, bits: number, start: bigint): boolean =>
  number >> BigInt(bitsOf(family) - bits) === start

export const NETWORK: readonly FunctionDeclaration[] = [
  declare("ip", [
    overload("string_to_ip", [STRING], IP, parseIp),
    member("cidr_ip", [CIDR], IP, ({ ip }: CidrValue) => ip),
  ]),
  declare("family", [member("ip_family", [IP], INT, ({ address }: IpValue) => (address.family === "IPv4" ? 4 : 6))]),
  declare("ip.isCanonical", [
    overload("ip_is_canonical", [STRING], BOOL, (text: string) => {
      const ip = parseIp(text)
      return ip instanceof IpValue ? ip.text === text : ip
    }),
  ]),
  ipTest("isUnspecified", "ip_is_unspecified", ({ address }) => address.number === 0n),
  ipTest("isLoopback", "ip_is_loopback", ({ address }) =>
    address.family === "IPv4" ? begins(address, 8, 127n) : address.number === 1n,
  ),
  ipTest("isLinkLocalMulticast", "ip_is_link_local_multicast", ({ address }) =>
    address.family === "IPv4"
      ? begins(address, 24, 0xe00000n)
      : begins(address, 8, 0xffn) && ((address.number >> 112n) & 0xfn) === 2n,
  ),
  ipTest("isLinkLocalUnicast", "ip_is_link_local_unicast", ({ address }) =>
    address.family === "IPv4" ? begins(address, 16, 0xa9fen) : begins(address, 10, 0xfe80n >> 6n),
  ),
  ipTest("isGlobalUnicast", "ip_is_global_unicast", ({ text }) => isGlobalUnicast(text)),
  declare("isIP", [overload("is_ip", [STRING], BOOL, (text: string) => parseIp(text) instanceof IpValue)]),
  declare("string", [
    overload("ip_to_string", [IP], STRING, ({ text }: IpValue) => text),
    overload("cidr_to_string", [CIDR], STRING, ({ text }: CidrValue) => text),
  ]),
  declare("cidr", [overload("string_to_cidr", [STRING], CIDR, parseCidr)]),
  declare("containsIP", [
    member("cidr_contains_ip_string", [CIDR, STRING], BOOL, (cidr: CidrValue, text: string) =>
      containsIp(cidr, parseIp(text)),
    ),
    member("cidr_contains_ip_ip", [CIDR, IP], BOOL, containsIp),
  ]),
  declare("containsCIDR", [
    member("cidr_contains_cidr_string", [CIDR, STRING], BOOL, (cidr: CidrValue, text: string) =>
      containsCidr(cidr, parseCidr(text)),
    ),
    member("cidr_contains_cidr", [CIDR, CIDR], BOOL, containsCidr),
  ]),
  declare("prefixLength", [member("cidr_prefix_length", [CIDR], INT, ({ prefix }: CidrValue) => prefix)]),
  declare("masked", [member("cidr_masked", [CIDR], CIDR, masked)]),
  declare("isCIDR", [overload("is_cidr", [STRING], BOOL, (text: string) => typeof parseCidrText(text) !== "string")]),
]
