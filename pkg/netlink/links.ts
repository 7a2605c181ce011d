/**
 * Messages about interfaces and their addresses, for sockets of NETLINK_ROUTE. Source: rtnetlink(7),
 * linux/rtnetlink.h, linux/if_link.h, linux/if_addr.h, linux/veth.h.
 */
import { addressNumber, addressText, bitsOf, familyOf, type Family } from "../apimachinery/addresses/cidr.ts"
import {
  ACK,
  attribute,
  attributesIn,
  CREATE,
  DUMP,
  EXCL,
  message,
  nested,
  REPLACE,
  REQUEST,
  uint32,
} from "./message.ts"
import type { Reply } from "./message.ts"

/** The protocol of the sockets. */
export const NETLINK_ROUTE = 0

/**
 * The multicast groups in which the kernel reports addresses that were added or removed. Source: linux/rtnetlink.h
 * RTMGRP_….
 */
export const ADDRESS_GROUPS = 0x10 | 0x100

export const NEWLINK = 16
const DELLINK = 17
const GETLINK = 18
const NEWADDR = 20
const DELADDR = 21
const GETADDR = 22

/** Types of attributes of an interface, and of its kind. */
export const IFLA = {
  address: 1,
  name: 3,
  mtu: 4,
  master: 10,
  info: 18,
  alias: 20,
  families: 26,
  namespaceFd: 28,
} as const
export const INFO = { kind: 1, data: 2, slaveKind: 4, slaveData: 5 } as const
/** The length of `struct ifinfomsg`: family, type, index, flags, changed flags. */
export const LINK_HEADER = 16
const UP = 1
/** Source: linux/if.h (IFF_RUNNING). */
const RUNNING = 0x40

export function linkHeader({ index = 0, isUp = false }: { index?: number; isUp?: boolean } = {}): Buffer {
  const header = Buffer.alloc(LINK_HEADER)
  header.writeInt32LE(index, 4)
  if (isUp) {
    header.writeUInt32LE(UP, 8)
    header.writeUInt32LE(UP, 12)
  }
  return header
}

/** Returns the bytes of a hardware address such as `0a:58:0a:2a:00:02`. */
export const hardwareBytes = (mac: string): Buffer => Buffer.from(mac.replaceAll(":", ""), "hex")

/** Returns the text of a hardware address. */
export const hardwareText = (bytes: Buffer): string => bytes.toString("hex").replace(/..(?=.)/g, "$&:")

/** Creates a bridge. It keeps its hardware address when ports are added. */
export const createBridge = (name: string, options: { mac: string; mtu: number; alias: string }): Buffer =>
  message(
    NEWLINK,
    REQUEST | ACK | CREATE | EXCL,
    linkHeader({ isUp: true }),
    attribute(IFLA.name, name),
    attribute(IFLA.address, hardwareBytes(options.mac)),
    attribute(IFLA.mtu, options.mtu),
    attribute(IFLA.alias, options.alias),
    nested(IFLA.info, attribute(INFO.kind, "bridge")),
  )

export interface VethPair {
  readonly name: string
  readonly mac: string
  /** The index of the bridge that the interface becomes a port of. */
  readonly bridge: number
  readonly mtu: number
  /** The other end of the pair. */
  readonly peer: {
    readonly name: string
    readonly mac: string
    /** An open file of the peer's network namespace, in the process that sends the message. */
    readonly namespaceFd: number
  }
}

/** Creates a pair of interfaces, both down. */
export const createVeth = ({ name, mac, bridge, mtu, peer }: VethPair): Buffer =>
  message(
    NEWLINK,
    REQUEST | ACK | CREATE | EXCL,
    linkHeader(),
    attribute(IFLA.name, name),
    attribute(IFLA.address, hardwareBytes(mac)),
    attribute(IFLA.mtu, mtu),
    attribute(IFLA.master, bridge),
    nested(
      IFLA.info,
      attribute(INFO.kind, "veth"),
      nested(
        INFO.data,
        nested(
          VETH_INFO_PEER,
          linkHeader(),
          attribute(IFLA.name, peer.name),
          attribute(IFLA.address, hardwareBytes(peer.mac)),
          attribute(IFLA.mtu, mtu),
          attribute(IFLA.namespaceFd, peer.namespaceFd),
        ),
      ),
    ),
  )
const VETH_INFO_PEER = 1

/** Allows a port of a bridge to send packets back out where they came in (hairpin mode), and brings it up. */
export const setUpPort = (name: string): Buffer =>
  message(
    NEWLINK,
    REQUEST | ACK,
    linkHeader({ isUp: true }),
    attribute(IFLA.name, name),
    nested(
      IFLA.info,
      attribute(INFO.slaveKind, "bridge"),
      nested(INFO.slaveData, attribute(BRPORT_MODE, Uint8Array.of(1))),
    ),
  )
const BRPORT_MODE = 4

export const setUp = (index: number): Buffer => message(NEWLINK, REQUEST | ACK, linkHeader({ index, isUp: true }))

export const deleteLink = (name: string): Buffer =>
  message(DELLINK, REQUEST | ACK, linkHeader(), attribute(IFLA.name, name))

export const findLink = (name: string): Buffer => message(GETLINK, REQUEST, linkHeader(), attribute(IFLA.name, name))

export const findLinkAt = (index: number): Buffer => message(GETLINK, REQUEST, linkHeader({ index }))

/** Changes an interface's hardware address and MTU, and brings it up. */
export const configureLink = (index: number, { mac, mtu }: { mac?: string; mtu: number }): Buffer =>
  message(
    NEWLINK,
    REQUEST | ACK,
    linkHeader({ index, isUp: true }),
    attribute(IFLA.mtu, mtu),
    ...(mac === undefined ? [] : [attribute(IFLA.address, hardwareBytes(mac))]),
  )

/**
 * Disables link-local addresses of IPv6 on an interface, so that the kernel sends no router or neighbour solicitations
 * from it.
 */
export const withoutLinkLocal = (index: number): Buffer =>
  message(
    NEWLINK,
    REQUEST | ACK,
    linkHeader({ index }),
    nested(IFLA.families, nested(AF.IPv6, attribute(ADDRESS_GENERATION, Uint8Array.of(GENERATE_NONE)))),
  )
/** Source: linux/if_link.h, IFLA_INET6_ADDR_GEN_MODE and IN6_ADDR_GEN_MODE_NONE. */
const [ADDRESS_GENERATION, GENERATE_NONE] = [8, 1]

export interface Link {
  readonly index: number
  readonly mac: string
  readonly mtu: number
  /** Whether somebody has brought it up. */
  readonly isUp: boolean
  /** Whether it can also send: the other end is up, and the kernel has taken note of it. */
  readonly isRunning: boolean
}

/** Returns the interface in the answer to `findLink`. */
export function linkIn({ body }: Reply): Link {
  const attributes = attributesIn(body, LINK_HEADER)
  return {
    index: body.readInt32LE(4),
    mac: hardwareText(attributes.get(IFLA.address) ?? Buffer.alloc(0)),
    mtu: attributes.get(IFLA.mtu)?.readUInt32LE(0) ?? 0,
    isUp: (body.readUInt32LE(8) & UP) !== 0,
    isRunning: (body.readUInt32LE(8) & RUNNING) !== 0,
  }
}

export const AF: Readonly<Record<Family, number>> = { IPv4: 2, IPv6: 10 }

/** Returns the bytes of an address as they are on the wire. */
export function addressBytes(address: string): Buffer {
  const digits = bitsOf(familyOf(address)) / 4
  return Buffer.from(addressNumber(address).toString(16).padStart(digits, "0"), "hex")
}

/** Returns the text of an address of 4 or 16 bytes. */
export const addressOf = (bytes: Buffer): string =>
  addressText({ family: bytes.length === 4 ? "IPv4" : "IPv6", number: BigInt(`0x${bytes.toString("hex")}`) })

/** `struct ifaddrmsg`: family, prefix length, flags, scope, index. */
function addressHeader(family: number, prefix: number, index: number): Buffer {
  const header = Buffer.alloc(8)
  header[0] = family
  header[1] = prefix
  header.writeUInt32LE(index, 4)
  return header
}
const IFA = { address: 1, local: 2, flags: 8 } as const
/** Turns off duplicate address detection (RFC 4862), during which an address of IPv6 cannot be used for a second. */
const NODAD = 0x02

/** Removes an address, `<address>/<prefix length>`, from an interface. */
export function removeAddress(index: number, cidr: string): Buffer {
  const [address = "", prefix] = cidr.split("/")
  return message(
    DELADDR,
    REQUEST | ACK,
    addressHeader(AF[familyOf(address)], Number(prefix), index),
    attribute(IFA.local, addressBytes(address)),
  )
}

/** Adds an address, `<address>/<prefix length>`, to an interface. Fails with EEXIST when the interface has it. */
export const addAddress = (index: number, cidr: string): Buffer => newAddress(index, cidr, EXCL)

/** Adds an address to an interface, unless the interface has it. */
export const keepAddress = (index: number, cidr: string): Buffer => newAddress(index, cidr, REPLACE)

function newAddress(index: number, cidr: string, ifThere: number): Buffer {
  const [address = "", prefix] = cidr.split("/")
  const family = familyOf(address)
  const bytes = addressBytes(address)
  return message(
    NEWADDR,
    REQUEST | ACK | CREATE | ifThere,
    addressHeader(AF[family], Number(prefix), index),
    attribute(IFA.local, bytes),
    attribute(IFA.address, bytes),
    ...(family === "IPv6" ? [attribute(IFA.flags, uint32(NODAD))] : []),
  )
}

/** Requests all addresses in the network namespace. */
export const listAddresses = (): Buffer => message(GETADDR, REQUEST | DUMP, addressHeader(0, 0, 0))

/** Returns the address in a reply to `listAddresses`, as hexadecimal bytes, with the index of its interface. */
export const addressIn = ({ body }: Reply): { index: number; prefix: number; bytes: string } => ({
  index: body.readUInt32LE(4),
  prefix: body[1]!,
  bytes: (attributesIn(body, 8).get(IFA.local) ?? attributesIn(body, 8).get(IFA.address))?.toString("hex") ?? "",
})
