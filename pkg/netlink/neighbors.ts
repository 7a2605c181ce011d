/**
 * Messages about neighbours: which hardware address belongs to an IP address on the same link, and to which machine a
 * VXLAN interface sends the packets for a hardware address (the forwarding database, FDB). For sockets of
 * NETLINK_ROUTE. Source: rtnetlink(7), linux/neighbour.h.
 */
import { familyOf, type Family } from "../apimachinery/addresses/cidr.ts"
import { AF, addressBytes, addressOf, hardwareBytes, hardwareText } from "./links.ts"
import { ACK, attribute, attributesIn, CREATE, DUMP, message, REPLACE, REQUEST } from "./message.ts"
import type { Reply } from "./message.ts"

const [NEWNEIGH, DELNEIGH, GETNEIGH] = [28, 29, 30]
const NDA = { destination: 1, hardware: 2 } as const
/** The length of `struct ndmsg`: family, index of the interface, state, flags, type. */
const HEADER = 12
const PERMANENT = 0x80
/** Flag: the entry is in the interface's own forwarding database, not in that of its bridge. */
const SELF = 0x02
const AF_BRIDGE = 7

function header(family: number, index: number, flags = 0): Buffer {
  const bytes = Buffer.alloc(HEADER)
  bytes[0] = family
  bytes.writeInt32LE(index, 4)
  bytes.writeUInt16LE(PERMANENT, 8)
  bytes[10] = flags
  return bytes
}

export interface Neighbor {
  /** The index of the interface. */
  readonly index: number
  readonly mac: string
  readonly address: string
}

/** Sets the hardware address of a neighbour, so that the kernel need not ask for it. */
export const setNeighbor = ({ index, mac, address }: Neighbor): Buffer =>
  message(
    NEWNEIGH,
    REQUEST | ACK | CREATE | REPLACE,
    header(AF[familyOf(address)], index),
    attribute(NDA.destination, addressBytes(address)),
    attribute(NDA.hardware, hardwareBytes(mac)),
  )

export const removeNeighbor = ({ index, address }: Omit<Neighbor, "mac">): Buffer =>
  message(
    DELNEIGH,
    REQUEST | ACK,
    header(AF[familyOf(address)], index),
    attribute(NDA.destination, addressBytes(address)),
  )

/** Sets the IP address of the machine to which a VXLAN interface sends packets for a hardware address. */
export const setForwarding = ({ index, mac, address }: Neighbor): Buffer =>
  message(
    NEWNEIGH,
    REQUEST | ACK | CREATE | REPLACE,
    header(AF_BRIDGE, index, SELF),
    attribute(NDA.hardware, hardwareBytes(mac)),
    attribute(NDA.destination, addressBytes(address)),
  )

export const removeForwarding = ({ index, mac, address }: Neighbor): Buffer =>
  message(
    DELNEIGH,
    REQUEST | ACK,
    header(AF_BRIDGE, index, SELF),
    attribute(NDA.hardware, hardwareBytes(mac)),
    attribute(NDA.destination, addressBytes(address)),
  )

/** Requests the neighbours of all interfaces, or their forwarding databases. */
export const listNeighbors = (of: Family | "forwarding"): Buffer =>
  message(GETNEIGH, REQUEST | DUMP, Buffer.alloc(HEADER).fill(of === "forwarding" ? AF_BRIDGE : AF[of], 0, 1))

/** Returns the neighbour in a reply to `listNeighbors`; undefined for one that the kernel has found out by itself. */
export function neighborIn({ body }: Reply): Neighbor | undefined {
  if ((body.readUInt16LE(8) & PERMANENT) === 0) return undefined
  const attributes = attributesIn(body, HEADER)
  const [mac, address] = [attributes.get(NDA.hardware), attributes.get(NDA.destination)]
  if (mac === undefined || address === undefined) return undefined
  return { index: body.readInt32LE(4), mac: hardwareText(mac), address: addressOf(address) }
}
