import { Buffer } from "node:buffer"
import { Lease } from "../../../pkg/api/coordination/v1/lease.ts"
import { servingNamesOf } from "../../../pkg/api/coordination/v1/server-lease.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { addressText, parseAddress } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import type { CertificateRequest } from "../../../pkg/pki/request/certificate-request.ts"

/** What `foreignName` reads, so that its informers are complete. */
export const NAMED = [Node, Service, EndpointSlice, Lease] as const

/** The API server and the machine itself, as programs ask for them, and the names of Services, pods and addresses. */
const RESERVED = /^(?:localhost|kubernetes(?:\.default)?)$|\.localhost$|\.(?:svc|pod)(?:\.|$)|\.arpa$|\*/
const LOOPBACK = /^127\.|^::1$|^0\.0\.0\.0$|^::$/

/**
 * Returns the name or address in a kubelet's request that is not its own: that of an API server, of a Service or of
 * another Node. The certificates of API servers are signed by the same authority, so with such a certificate a node
 * could pose as an API server. Differs from upstream, which leaves this to whoever approves the request.
 */
export function foreignName(request: CertificateRequest, { informers }: ReconcileContext): string | undefined {
  const own = request.commonName.slice("system:node:".length)
  const others = new Set<string>()
  for (const { metadata, status } of informers.of(Node).list()) {
    if (metadata.name === own) continue
    others.add(metadata.name!)
    for (const { address } of status.addresses ?? []) others.add(plain(address))
  }
  for (const { spec } of informers.of(Service).list())
    for (const ip of spec.clusterIPs ?? []) if (ip !== "None") others.add(plain(ip))
  for (const { endpoints } of informers.of(EndpointSlice).list("default").filter(isOfApiServers))
    for (const { addresses } of endpoints ?? []) for (const address of addresses) others.add(plain(address))
  for (const lease of informers.of(Lease).list("kube-system"))
    for (const name of servingNamesOf(lease)) others.add(plain(name))
  const names = request.dnsNames.map((name) => name.toLowerCase().replace(/\.$/, ""))
  const addresses = request.ipAddresses.map((bytes) => textOf(bytes))
  return (
    names.find((name) => RESERVED.test(name) || others.has(name)) ??
    addresses.find((address) => LOOPBACK.test(address) || others.has(address))
  )
}

/**
 * Returns the address in a certificate as text: an IPv4 address in IPv6 form is that IPv4 address, for which Go's
 * clients would take it.
 */
function textOf(bytes: Uint8Array): string {
  const number = BigInt(`0x${Buffer.from(bytes).toString("hex") || "0"}`)
  const isIPv4 = bytes.length === 4 || number >> 32n === 0xffffn
  return addressText(isIPv4 ? { family: "IPv4", number: number & 0xffffffffn } : { family: "IPv6", number })
}

const isOfApiServers = ({ metadata }: EndpointSlice): boolean =>
  metadata.labels?.["kubernetes.io/service-name"] === "kubernetes"

/** Returns an address in its usual form, and a name in lower case. */
function plain(text: string): string {
  const address = parseAddress(text)
  return address === undefined ? text.toLowerCase() : addressText(address)
}
