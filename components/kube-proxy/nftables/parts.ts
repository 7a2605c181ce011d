import { joinHostPort } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { finished } from "../../../pkg/apimachinery/finished.ts"
import { FAMILY_WORD } from "../../../pkg/netfilter/nft.ts"
import type { ServicePort } from "../service-ports.ts"
import type { Endpoint } from "../topology.ts"
import {
  ADDRESSES,
  AFFINITY,
  CLUSTER_IPS,
  FIREWALL_IPS,
  HAIRPINS,
  hashedName,
  LOCAL_OFFSET,
  NODE_PORTS,
  REJECT_CHAIN,
  type Frontends,
} from "./names.ts"

/** An entry of a map, or of a set when the value is empty. */
export interface Element {
  readonly container: string
  readonly key: string
  /** The value as `nft` writes it, with a colon before it, and with a comment if there is one. */
  readonly value: string
  /** Whether the key is an address that somebody wrote into a Service: it yields to every cluster IP. */
  readonly yields?: true
}

/** What Service ports need in the table of their family. */
export interface Parts {
  readonly elements: readonly Element[]
  /** The rules of chains by name. A name that several Services use always has the same rules. */
  readonly chains: ReadonlyMap<string, readonly string[]>
  /** Sets of clients, with the seconds for which a client stays in the set. */
  readonly affinities: ReadonlyMap<string, number>
}

interface Builder {
  readonly elements: Element[]
  readonly chains: Map<string, readonly string[]>
  readonly affinities: Map<string, number>
}

/**
 * Returns what the ports of a Service, all of one family, need in the table: entries of maps, and chains only for
 * session affinity. The kernel and `nft` examine all chains of a table at every change of rules, so upstream's chains
 * for each Service make a change more expensive the more Services there are. Source of the behaviour: syncProxyRules in
 * pkg/proxy/nftables/proxier.go.
 */
export const partsOf = (ports: readonly ServicePort[]): Parts => finished(makingParts(ports))

/** Does the work of `partsOf` in steps: a Service can have a hundred thousand entries. */
export function* makingParts(ports: readonly ServicePort[]): Generator<void, Parts> {
  const builder: Builder = { elements: [], chains: new Map(), affinities: new Map() }
  for (const port of ports) yield* addPort(builder, port)
  return builder
}

/** One way to reach a Service port: an address and a port, or a node port. */
interface Entrance {
  readonly of: Frontends
  /** The key in the maps of services and policies. */
  readonly key: string
  /** The key in the maps of endpoints, without the index. */
  readonly endpointKey: string
  readonly yields?: true
}

function* addPort(builder: Builder, port: ServicePort): Generator<void> {
  const { elements } = builder
  const isServed = port.cluster.length > 0
  const at = (ip: string): Entrance => ({
    of: ADDRESSES[port.family],
    key: `${ip} . ${port.protocol} . ${port.port}`,
    endpointKey: `${ip} . ${port.port}`,
  })
  const outsideAt = (ip: string): Entrance => ({ ...at(ip), yields: true })
  const loadBalancers = port.loadBalancerIps.map(outsideAt)
  const outside: readonly Entrance[] = [
    ...port.externalIps.map(outsideAt),
    ...loadBalancers,
    ...(port.nodePort === undefined
      ? []
      : [{ of: NODE_PORTS, key: `${port.protocol} . ${port.nodePort}`, endpointKey: String(port.nodePort) }]),
  ]
  const inside = at(port.clusterIp)

  elements.push({ container: CLUSTER_IPS, key: port.clusterIp, value: "" })
  const internal = port.internalLocal ? port.local : port.cluster
  if (internal.length === 0) elements.push(nowhere(port, inside))
  else
    elements.push({
      container: inside.of.services,
      key: inside.key,
      value: `: goto ${spread(builder, port, inside, port.internalLocal)}`,
    })

  for (const entrance of outside) {
    const { of, key } = entrance
    const yields = entrance.yields === true ? { yields: true as const } : {}
    if ((port.externalLocal ? port.local : port.cluster).length === 0) elements.push(nowhere(port, entrance))
    if (!isServed) continue
    elements.push(
      {
        container: of.services,
        key,
        value: `: goto ${port.externalLocal ? of.externalLocal : of.externalCluster}`,
        ...yields,
      },
      { container: of.clusterPolicy, key, value: `: goto ${spread(builder, port, entrance, false)}`, ...yields },
    )
    if (port.externalLocal && port.local.length > 0)
      elements.push({
        container: of.localPolicy,
        key,
        value: `: goto ${spread(builder, port, entrance, true)}`,
        ...yields,
      })
    yield
  }

  if (port.sourceRanges.length > 0) {
    const chain = firewallChain(builder, port)
    for (const { key } of loadBalancers) elements.push({ container: FIREWALL_IPS, key, value: `: goto ${chain}` })
  }
  for (const { ip, port: number } of port.local)
    elements.push({ container: HAIRPINS, key: `${ip} . ${ip} . ${port.protocol} . ${number}`, value: "" })
  yield
}

/**
 * Returns the entry for packets without a usable endpoint: they are refused (there is none at all) or dropped (there
 * are some, but not on this node).
 */
const nowhere = (port: ServicePort, { of, key, yields }: Entrance): Element => ({
  container: of.noEndpoints,
  key,
  value:
    port.cluster.length > 0
      ? `${comment(`${port.name} has no local endpoints`)} : drop`
      : `${comment(`${port.name} has no endpoints`)} : goto ${REJECT_CHAIN}`,
  ...(yields === true ? { yields } : {}),
})

/**
 * Returns a comment that shows to which Service an entry belongs, truncated to the length that `nft` allows. Source:
 * NFTNL_UDATA_COMMENT_MAXLEN in libnftnl.
 */
const comment = (text: string): string =>
  `comment "${text.length > MAX_COMMENT ? `${text.slice(0, MAX_COMMENT - 3)}...` : text}"`
const MAX_COMMENT = 127

/** Returns the chain that sends a connection to an endpoint; adds what it needs. */
function spread(builder: Builder, port: ServicePort, { of, endpointKey, yields }: Entrance, isLocal: boolean): string {
  const endpoints = isLocal ? port.local : port.cluster
  if (port.affinitySeconds !== undefined) return sticky(builder, port, endpoints, isLocal)
  const offset = isLocal ? LOCAL_OFFSET : 0
  for (const [i, { ip, port: number }] of endpoints.entries())
    builder.elements.push({
      container: of.endpoints(port.protocol),
      key: `${endpointKey} . ${offset + i}`,
      value: `${comment(`${port.name} -> ${joinHostPort(ip, number)}`)} : ${ip} . ${number}`,
      ...(yields === true ? { yields } : {}),
    })
  const name = `${of.spread}-${port.protocol}-${isLocal ? "local-" : ""}${endpoints.length}`
  builder.chains.set(name, spreadRules(of, port, endpoints.length, offset))
  return name
}

/**
 * Returns rules that choose one of `count` endpoints at random. If the maps change at the same moment, a packet may
 * choose an endpoint that was just removed: it then gets the first endpoint, or is dropped when there is none, so that
 * its sender tries again.
 */
function spreadRules(
  of: Frontends,
  { family, protocol }: Pick<ServicePort, "family" | "protocol">,
  count: number,
  offset: number,
): readonly string[] {
  const to = (modulus: number) =>
    `meta l4proto ${protocol} dnat ${FAMILY_WORD[family]} to ${of.endpointKey(protocol)} . numgen random mod ${modulus} ` +
    `offset ${offset} map @${of.endpoints(protocol)}`
  return count === 1 ? [to(1), "drop"] : [to(count), to(1), "drop"]
}

/**
 * Returns the chain for session affinity: the endpoint that the client used before, otherwise a random one, which is
 * remembered.
 */
function sticky(builder: Builder, port: ServicePort, endpoints: readonly Endpoint[], isLocal: boolean): string {
  const [service = "", portName = ""] = port.name.split(":")
  const base = `${service}/${port.protocol}/${portName}`
  const source = `${FAMILY_WORD[port.family]} saddr`
  const chain = hashedName(isLocal ? "local-" : "service-", base)
  if (builder.chains.has(chain)) return chain
  const targets = endpoints.map(({ ip, port: number }) => {
    const to = joinHostPort(ip, number)
    const full = `${base}__${ip.replaceAll(":", ".")}/${number}`
    const target = {
      chain: hashedName("endpoint-", full),
      set: hashedName(AFFINITY, `${full}/${port.affinitySeconds}`),
    }
    builder.affinities.set(target.set, port.affinitySeconds!)
    builder.chains.set(target.chain, [
      `update @${target.set} { ${source} }`,
      `meta l4proto ${port.protocol} dnat to ${to} ${comment(`${port.name} -> ${to}`)}`,
    ])
    return target
  })
  const byChance = targets.map((target, i) => `${i} : goto ${target.chain}`)
  builder.chains.set(chain, [
    ...targets.map((target) => `${source} @${target.set} goto ${target.chain}`),
    `numgen random mod ${targets.length} vmap { ${byChance.join(", ")} }`,
  ])
  return chain
}

/**
 * Returns the chain that only accepts the sources in loadBalancerSourceRanges. Its name is made from these, so that
 * Services with the same ranges share it.
 */
function firewallChain(builder: Builder, port: ServicePort): string {
  const ranges = [...port.sourceRanges].sort().join(", ")
  const chain = hashedName("firewall-", ranges.replaceAll(":", "_").replaceAll(/[^0-9a-f_]+/g, "."))
  builder.chains.set(chain, [`${FAMILY_WORD[port.family]} saddr != { ${ranges} } drop`])
  return chain
}
