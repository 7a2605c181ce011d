import { familyOf } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { askForLink } from "../../../../pkg/netlink/find-link.ts"
import { configureLink, deleteLink, linkIn, withoutLinkLocal } from "../../../../pkg/netlink/links.ts"
import { request, type NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import { createVxlan, vxlanIn, type Vxlan } from "../../../../pkg/netlink/vxlan.ts"
import { hashedMac } from "../plugin/pod-names.ts"
import { BACKEND_PORTS } from "./backend-names.ts"
import type { Backend, Self } from "./backend.ts"
import { baseAddress, holdBaseAddresses } from "./device-addresses.ts"

const DEVICE = "k3ts-vxlan"
/** Flannel's. */
const VNI = 1
/** Linux's own port for VXLAN, which flannel uses too; the registered one is 4789. */
export const VXLAN_PORT = BACKEND_PORTS.vxlan!
/** Headers of the outer IP (20 or 40 bytes), UDP (8), VXLAN (8) and the inner Ethernet (14). */
const OVERHEAD = { IPv4: 50, IPv6: 70 } as const

/**
 * Sends packets of pods inside UDP packets between nodes (RFC 7348), so the network in between needs to know nothing of
 * pods. The kernel learns nothing and asks nobody: each peer has a forwarding entry for its hardware address, and each
 * range of its pods a neighbour with that hardware address and a route through it. Source: flannel
 * pkg/backend/vxlan/vxlan.go.
 *
 * Differs from flannel: one interface carries both families of pods, between the primary addresses of nodes, so nodes
 * need no address of the second family. And hardware addresses follow from the ranges of pods, which only the control
 * plane gives to nodes, so that no node can announce itself in place of another.
 */
export const vxlan: Backend = {
  type: "vxlan",
  device: DEVICE,
  guardedPort: VXLAN_PORT,
  overhead: (family) => OVERHEAD[family],
  announces: (podCidrs) => ({ VNI, VtepMAC: macOf(podCidrs) }),
  async ensure(socket, self) {
    const { index, mtu, mac, isUp } = await ensureLink(socket, self)
    const wanted = { mac: macOf(self.podCidrs), mtu: self.uplink.mtu - OVERHEAD[familyOf(self.local)] }
    if (!isUp || mtu !== wanted.mtu || mac !== wanted.mac) await request(socket, [configureLink(index, wanted)])
    await holdBaseAddresses(socket, index, self.podCidrs)
    return index
  },
  waysTo({ addresses, podCidrs, data }, { local }, index) {
    if (data["VNI"] !== VNI)
      throw new Error(`it announces VXLAN network ${JSON.stringify(data["VNI"])} instead of ${VNI}`)
    const address = addresses.find((one) => familyOf(one) === familyOf(local))
    if (address === undefined) throw new Error(`it announces no address of ${familyOf(local)}, the primary family here`)
    const mac = macOf(podCidrs)
    const ranges = podCidrs.map((destination) => ({ destination, gateway: baseAddress(destination) }))
    return {
      forwarding: [{ index, mac, address }],
      neighbors: ranges.map(({ gateway }) => ({ index, mac, address: gateway })),
      routes: ranges.map((range) => ({ ...range, index, onLink: true })),
    }
  },
}

const macOf = (podCidrs: readonly string[]): string => hashedMac(podCidrs[0]!)

/** Returns the interface. It is created again if it is missing or cannot be changed into the wanted one. */
async function ensureLink(socket: NetlinkFile, { local, uplink, podCidrs }: Self) {
  const wanted: Vxlan = { id: VNI, port: VXLAN_PORT, local, link: uplink.index }
  const known = await askForLink(socket, DEVICE)
  if (known !== undefined) {
    const found = vxlanIn(known)
    if (found !== undefined && (["id", "port", "local", "link"] as const).every((key) => found[key] === wanted[key]))
      return linkIn(known)
    await request(socket, [deleteLink(DEVICE)])
  }
  await request(socket, [createVxlan(DEVICE, macOf(podCidrs), wanted)])
  const made = linkIn((await askForLink(socket, DEVICE))!)
  await request(socket, [withoutLinkLocal(made.index)]).catch(() => undefined) // the kernel has no IPv6
  return made
}
