/** Messages about VXLAN interfaces, for sockets of NETLINK_ROUTE. Source: linux/if_link.h, RFC 7348. */
import { familyOf } from "../apimachinery/addresses/cidr.ts"
import { addressBytes, addressOf, hardwareBytes, IFLA, INFO, LINK_HEADER, linkHeader, NEWLINK } from "./links.ts"
import { ACK, attribute, attributesIn, CREATE, EXCL, message, nested, REQUEST, type Reply } from "./message.ts"

const VXLAN = { id: 1, link: 3, local: 4, learning: 7, port: 15, local6: 17, checksum: 18 } as const
const KIND = "vxlan"

/** The settings that cannot be changed while the interface exists. */
export interface Vxlan {
  /** The number of the VXLAN network (VNI), which every packet contains. */
  readonly id: number
  /** The UDP port, which is the same on all machines. */
  readonly port: number
  /** The address of this machine from which packets are sent. */
  readonly local: string
  /** The index of the interface that has the address `local`. */
  readonly link: number
}

/**
 * Creates a VXLAN interface, down. It learns nothing from packets: `setForwarding` sets the addresses of other
 * machines.
 */
export const createVxlan = (name: string, mac: string, { id, port, local, link }: Vxlan): Buffer =>
  message(
    NEWLINK,
    REQUEST | ACK | CREATE | EXCL,
    linkHeader(),
    attribute(IFLA.name, name),
    attribute(IFLA.address, hardwareBytes(mac)),
    nested(
      IFLA.info,
      attribute(INFO.kind, KIND),
      nested(
        INFO.data,
        attribute(VXLAN.id, id),
        attribute(VXLAN.link, link),
        attribute(familyOf(local) === "IPv4" ? VXLAN.local : VXLAN.local6, addressBytes(local)),
        attribute(VXLAN.learning, Uint8Array.of(0)),
        attribute(VXLAN.port, Uint8Array.of(port >> 8, port & 0xff)),
        // As RFC 7348 section 5 asks: the packet inside has a checksum of its own. IPv6 has no datagrams without one.
        ...(familyOf(local) === "IPv4" ? [attribute(VXLAN.checksum, Uint8Array.of(0))] : []),
      ),
    ),
  )

/** Returns the VXLAN interface in the answer to `findLink`; undefined when the interface is of another kind. */
export function vxlanIn({ body }: Reply): Vxlan | undefined {
  const info = attributesIn(attributesIn(body, LINK_HEADER).get(IFLA.info) ?? Buffer.alloc(0), 0)
  const data = info.get(INFO.data)
  if (data === undefined || info.get(INFO.kind)?.toString().replace(/\0$/, "") !== KIND) return undefined
  const attributes = attributesIn(data, 0)
  const local = attributes.get(VXLAN.local) ?? attributes.get(VXLAN.local6)
  return {
    id: attributes.get(VXLAN.id)?.readUInt32LE(0) ?? 0,
    port: attributes.get(VXLAN.port)?.readUInt16BE(0) ?? 0,
    local: local === undefined ? "" : addressOf(local),
    link: attributes.get(VXLAN.link)?.readUInt32LE(0) ?? 0,
  }
}
