/**
 * Messages about WireGuard interfaces: for sockets of NETLINK_ROUTE to create one, of NETLINK_GENERIC to set its keys
 * and peers. Source: linux/wireguard.h, linux/genetlink.h.
 */
import { familyOf, parseNetwork } from "../apimachinery/addresses/cidr.ts"
import { addressBytes, AF, IFLA, INFO, linkHeader, NEWLINK } from "./links.ts"
import { ACK, attribute, attributesIn, CREATE, EXCL, message, nested, REQUEST, type Reply } from "./message.ts"

/** The protocol of the sockets. */
export const NETLINK_GENERIC = 16

const [CONTROLLER, GET_FAMILY] = [0x10, 3]
const CONTROL = { id: 1, name: 2 } as const
const SET_DEVICE = 1
const DEVICE = { index: 1, privateKey: 3, flags: 5, port: 6, peers: 8 } as const
const REPLACE_PEERS = 1
const PEER = { publicKey: 1, flags: 3, endpoint: 4, keepalive: 5, allowed: 9 } as const
const [REMOVE_PEER, REPLACE_ALLOWED] = [1, 2]
const ALLOWED = { family: 1, address: 2, prefix: 3 } as const

/** Creates a WireGuard interface, down. */
export const createWireguard = (name: string): Buffer =>
  message(
    NEWLINK,
    REQUEST | ACK | CREATE | EXCL,
    linkHeader(),
    attribute(IFLA.name, name),
    nested(IFLA.info, attribute(INFO.kind, "wireguard")),
  )

/** Requests the family number of WireGuard, which differs from boot to boot. */
export const findWireguard = (): Buffer =>
  message(CONTROLLER, REQUEST, genericHeader(GET_FAMILY), attribute(CONTROL.name, "wireguard"))

/** Returns the family number in the answer to `findWireguard`. */
export const familyIn = ({ body }: Reply): number => attributesIn(body, 4).get(CONTROL.id)!.readUInt16LE(0)

/** Sets an interface's private key, of 32 bytes, and its UDP port, and removes all its peers. */
export const setDevice = (family: number, index: number, privateKey: Uint8Array, port: number): Buffer =>
  message(
    family,
    REQUEST | ACK,
    genericHeader(SET_DEVICE),
    attribute(DEVICE.index, index),
    attribute(DEVICE.privateKey, privateKey),
    attribute(DEVICE.flags, REPLACE_PEERS),
    attribute(DEVICE.port, uint16(port)),
  )

export interface WireguardPeer {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  readonly address: string
  readonly port: number
  /** The ranges of addresses behind the peer. Packets from the peer with other sources are dropped. */
  readonly ranges: readonly string[]
  /** After this many seconds of silence a packet keeps the connection open. */
  readonly keepaliveSeconds: number
}

/** Adds a peer, or replaces its settings. Packets that wait to be sent to the peer are kept. */
export const setPeer = (family: number, index: number, peer: WireguardPeer): Buffer =>
  changePeer(
    family,
    index,
    attribute(PEER.publicKey, peer.publicKey),
    attribute(PEER.flags, REPLACE_ALLOWED),
    attribute(PEER.endpoint, socketAddress(peer.address, peer.port)),
    attribute(PEER.keepalive, uint16(peer.keepaliveSeconds)),
    nested(PEER.allowed, ...peer.ranges.map(allowed)),
  )

export const removePeer = (family: number, index: number, publicKey: Uint8Array): Buffer =>
  changePeer(family, index, attribute(PEER.publicKey, publicKey), attribute(PEER.flags, REMOVE_PEER))

const changePeer = (family: number, index: number, ...attributes: readonly Buffer[]): Buffer =>
  message(
    family,
    REQUEST | ACK,
    genericHeader(SET_DEVICE),
    attribute(DEVICE.index, index),
    nested(DEVICE.peers, nested(0, ...attributes)),
  )

function allowed(cidr: string): Buffer {
  const { family, prefix } = parseNetwork(cidr)!
  return nested(
    0,
    attribute(ALLOWED.family, uint16(AF[family])),
    attribute(ALLOWED.address, addressBytes(cidr.split("/")[0]!)),
    attribute(ALLOWED.prefix, Uint8Array.of(prefix)),
  )
}

/** `struct genlmsghdr`: command, version, and two unused bytes. */
const genericHeader = (command: number): Buffer => Buffer.from([command, 1, 0, 0])

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

/** `struct sockaddr_in` or `sockaddr_in6`, with the port in network byte order. */
function socketAddress(address: string, port: number): Buffer {
  const family = familyOf(address)
  const bytes = Buffer.alloc(family === "IPv4" ? 16 : 28)
  bytes.writeUInt16LE(AF[family], 0)
  bytes.writeUInt16BE(port, 2)
  bytes.set(addressBytes(address), family === "IPv4" ? 4 : 8)
  return bytes
}
