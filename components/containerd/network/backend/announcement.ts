/**
 * Annotations by which nodes tell each other how to reach their pods. The names are flannel's:
 * pkg/subnet/kube/annotations.go.
 */
import { BACKEND_DATA, backendDataIn, FLANNEL } from "../../../../pkg/api/core/v1/node/backend-data.ts"
import type { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import {
  addressAt,
  addressText,
  familyOf,
  parseAddress,
  parseNetwork,
  type Family,
} from "../../../../pkg/apimachinery/addresses/cidr.ts"
import type { Announcement, Peer } from "./backend.ts"

const TYPE = `${FLANNEL}/backend-type`
const MANAGED = `${FLANNEL}/kube-subnet-manager`
const ADDRESS: Readonly<Record<Family, string>> = { IPv4: `${FLANNEL}/public-ip`, IPv6: `${FLANNEL}/public-ipv6` }

/** The most addresses of one node from which packets are accepted, since the node has written the list itself. */
const MOST_SOURCES = 16

/** Returns the annotations of an announcement; null for those to be removed. */
export function annotationsOf({ type, addresses, data }: Announcement): Readonly<Record<string, string | null>> {
  const primary = familyOf(addresses[0]!)
  const other = primary === "IPv4" ? "IPv6" : "IPv4"
  const of = (family: Family) => addresses.find((address) => familyOf(address) === family) ?? null
  return {
    [MANAGED]: "true",
    [TYPE]: type,
    [ADDRESS.IPv4]: of("IPv4"),
    [ADDRESS.IPv6]: of("IPv6"),
    [BACKEND_DATA[primary]]: JSON.stringify(data),
    [BACKEND_DATA[other]]: null,
  }
}

/** Whether a Node has exactly these annotations already. */
export const isAnnounced = ({ metadata }: Node, annotations: ReturnType<typeof annotationsOf>): boolean =>
  Object.entries(annotations).every(([name, value]) => (metadata.annotations?.[name] ?? null) === value)

/** Returns what a node has announced; undefined while it has announced nothing, or has no ranges of pods. */
export function peerOf({ metadata, spec, status }: Node): Peer | undefined {
  const { [TYPE]: type, ...annotations } = metadata.annotations ?? {}
  const { podCIDRs: podCidrs = [] } = spec
  if (type === undefined || podCidrs.length === 0) return undefined
  const isFirst6 = annotations[BACKEND_DATA.IPv6] !== undefined && annotations[BACKEND_DATA.IPv4] === undefined
  const families: readonly Family[] = isFirst6 ? ["IPv6", "IPv4"] : ["IPv4", "IPv6"]
  const addresses = families.flatMap((family) => {
    const address = parseAddress(annotations[ADDRESS[family]] ?? "")
    return address?.family === family ? [addressText(address)] : []
  })
  return {
    name: metadata.name!,
    type,
    addresses,
    podCidrs: rangesOf(podCidrs),
    sources: [...addresses, ...internalAddresses(status)].slice(0, MOST_SOURCES),
    data: backendDataIn(annotations[BACKEND_DATA[families[0]!]]),
  }
}

/** Returns ranges in the kernel's spelling, so that they can be compared with its routes. */
export const rangesOf = (podCidrs: readonly string[]): readonly string[] =>
  podCidrs.flatMap((cidr) => {
    const range = parseNetwork(cidr)
    return range === undefined ? [] : [`${addressAt(range, 0)}/${range.prefix}`]
  })

/** Returns the addresses that the interfaces of a node have, in canonical form. */
const internalAddresses = ({ addresses = [] }: Node["status"]): readonly string[] =>
  addresses.flatMap(({ type, address }) => {
    const parsed = type === "InternalIP" ? parseAddress(address) : undefined
    return parsed === undefined ? [] : [addressText(parsed)]
  })
