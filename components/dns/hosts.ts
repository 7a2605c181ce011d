import { isIPv6 } from "node:net"
import type { Answer } from "dns-packet"
import type { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { Index, Informer } from "../../pkg/client/informer.ts"
import type { HostsOptions } from "./config/zone.ts"
import { reverseAddress } from "./reverse.ts"
import { RCODE, typeName, type Query } from "./wire/query.ts"
import type { Reply } from "./wire/reply.ts"

/** The TTL of names of nodes, in seconds. Source: k3s manifests/coredns.yaml. */
const NODE_TTL = 60

/** Names with their addresses. */
export interface HostTable {
  readonly ttl: number
  addresses(name: string): readonly string[]
  /** Returns the names of an address. */
  names(ip: string): readonly string[]
}

/** Returns the table of a `hosts` directive. An entry `*.apps.example` matches all names below `apps.example`. */
export function entriesTable({ entries, ttl, reverse }: HostsOptions): HostTable {
  const addresses = Map.groupBy(entries, ({ name }) => name)
  const names = Map.groupBy(entries, ({ ip }) => ip)
  return {
    ttl,
    addresses(name) {
      if (name.includes("\\")) return []
      let found = addresses.get(name)
      for (let dot = name.indexOf("."); found === undefined && dot >= 0; dot = name.indexOf(".", dot + 1))
        found = addresses.get(`*${name.slice(dot)}`)
      return (found ?? []).map(({ ip }) => ip)
    },
    names: (ip) =>
      reverse ? (names.get(ip) ?? []).map(({ name }) => name).filter((name) => !name.startsWith("*")) : [],
  }
}

const byAddress: Index<Node> = { name: "dns/node-address", of: (node) => internalIps(node) }

/**
 * Returns the table of the cluster's nodes: their names and internal addresses. Source: k3s' NodeHosts. Differs from
 * there: a name with a dot is left to other servers, since whoever may let a machine join could choose the name of any
 * host in the world, and every pod would be sent to that machine.
 */
export const nodeTable = (nodes: Informer<Node>): HostTable => ({
  ttl: NODE_TTL,
  addresses: (name) => (name.includes(".") ? [] : internalIps(nodes.get(name))),
  names: (ip) => nodes.by(byAddress, ip).flatMap(({ metadata: { name = "" } }) => (name.includes(".") ? [] : name)),
})

const internalIps = (node: Node | undefined): readonly string[] =>
  (node?.status?.addresses ?? []).filter(({ type }) => type === "InternalIP").map(({ address }) => address)

/** Answers a query from a table; undefined when the table does not have the name. */
export function answerHost(query: Query, name: string, table: HostTable): Reply | undefined {
  const type = typeName(query)
  const ip = reverseAddress(name)
  const known = ip === undefined ? table.addresses(name) : table.names(ip)
  if (known.length === 0) return undefined
  const record = (data: string, is: "A" | "AAAA" | "PTR"): Answer => ({
    name,
    type: is,
    ttl: table.ttl,
    class: "IN",
    data,
  })
  const answers =
    ip === undefined
      ? known
          .filter((address) => type === (isIPv6(address) ? "AAAA" : "A"))
          .map((address) => record(address, isIPv6(address) ? "AAAA" : "A"))
      : type === "PTR"
        ? known.map((host) => record(host, "PTR"))
        : []
  return {
    rcode: RCODE.noError,
    authoritative: true,
    answers,
    authorities: [],
    additionals: [],
    from: "hosts",
    isFixed: true,
  }
}
