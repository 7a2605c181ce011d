import { joinHostPort } from "../../../pkg/apimachinery/cidr.ts"
import { FAMILY_WORD } from "../../../pkg/netfilter/nft.ts"
import type { Endpoint, ServicePort } from "../service-ports.ts"
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

/** An entry of a set (its value is empty) or of a map. */
export interface Element {
  readonly container: string
  readonly key: string
  /** As `nft` writes it, with the colon before it, and with a comment where there is one. */
  readonly value: string
}

/** What Service ports ask of the table of their family. */
export interface Parts {
  readonly elements: readonly Element[]
  /** By name, the rules of chains. A name stands for the same rules whoever asks, or is asked for by one Service only. */
  readonly chains: ReadonlyMap<string, readonly string[]>
  /** Sets of clients, with the seconds for which a client stays in one. */
  readonly affinities: ReadonlyMap<string, number>
}

interface Builder {
  readonly elements: Element[]
  readonly chains: Map<string, readonly string[]>
  readonly affinities: Map<string, number>
}

/**
 * What the ports of a Service, all of one family, ask of its table: entries of maps, and no chain of its own but for
 * session affinity. The kernel and `nft` look at all chains of a table whenever rules change, so that chains for each
 * Service, which upstream has, make each change the dearer the more Services there are. Source of the behaviour:
 * syncProxyRules in pkg/proxy/nftables/proxier.go.
 */
export function partsOf(ports: readonly ServicePort[]): Parts {
  const builder: Builder = { elements: [], chains: new Map(), affinities: new Map() }
  for (const port of ports) addPort(builder, port)
  return builder
}

/** One way into a Service port: an address and a port, or a node port. */
interface Entrance {
  readonly of: Frontends
  /** In maps of services and policies. */
  readonly key: string
  /** In maps of endpoints, before the number. */
  readonly endpointKey: string
}

function addPort(builder: Builder, port: ServicePort): void {
  const { elements } = builder
  const isServed = port.cluster.length > 0
  const at = (ip: string): Entrance => ({
    of: ADDRESSES[port.family],
    key: `${ip} . ${port.protocol} . ${port.port}`,
    endpointKey: `${ip} . ${port.port}`,
  })
  const loadBalancers = port.loadBalancerIps.map(at)
  const outside = [
    ...port.externalIps.map(at),
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
    if ((port.externalLocal ? port.local : port.cluster).length === 0) elements.push(nowhere(port, entrance))
    if (!isServed) continue
    elements.push(
      { container: of.services, key, value: `: goto ${port.externalLocal ? of.externalLocal : of.externalCluster}` },
      { container: of.clusterPolicy, key, value: `: goto ${spread(builder, port, entrance, false)}` },
    )
    if (port.externalLocal && port.local.length > 0)
      elements.push({ container: of.localPolicy, key, value: `: goto ${spread(builder, port, entrance, true)}` })
  }

  if (port.sourceRanges.length > 0) {
    const chain = firewallChain(builder, port)
    for (const { key } of loadBalancers) elements.push({ container: FIREWALL_IPS, key, value: `: goto ${chain}` })
  }
  for (const { ip, port: number } of port.local)
    elements.push({ container: HAIRPINS, key: `${ip} . ${ip} . ${port.protocol} . ${number}`, value: "" })
}

/** What has nowhere to go is refused (nobody serves) or dropped (somebody does, but not here). */
const nowhere = (port: ServicePort, { of, key }: Entrance): Element => ({
  container: of.noEndpoints,
  key,
  value:
    port.cluster.length > 0
      ? `${comment(`${port.name} has no local endpoints`)} : drop`
      : `${comment(`${port.name} has no endpoints`)} : goto ${REJECT_CHAIN}`,
})

/** Tells people whose an entry is; cut to what `nft` takes. Source: NFTNL_UDATA_COMMENT_MAXLEN in libnftnl. */
const comment = (text: string): string =>
  `comment "${text.length > MAX_COMMENT ? `${text.slice(0, MAX_COMMENT - 3)}...` : text}"`
const MAX_COMMENT = 127

/** The chain that brings a connection to an endpoint; what it needs is added. */
function spread(builder: Builder, port: ServicePort, { of, endpointKey }: Entrance, isLocal: boolean): string {
  const endpoints = isLocal ? port.local : port.cluster
  if (port.affinitySeconds !== undefined) return sticky(builder, port, endpoints, isLocal)
  const offset = isLocal ? LOCAL_OFFSET : 0
  for (const [i, { ip, port: number }] of endpoints.entries())
    builder.elements.push({
      container: of.endpoints(port.protocol),
      key: `${endpointKey} . ${offset + i}`,
      value: `${comment(`${port.name} -> ${joinHostPort(ip, number)}`)} : ${ip} . ${number}`,
    })
  const name = `${of.spread}-${port.protocol}-${isLocal ? "local-" : ""}${endpoints.length}`
  builder.chains.set(name, spreadRules(of, port, endpoints.length, offset))
  return name
}

/**
 * By chance one of `count` endpoints. A packet that comes while the maps change may look for an endpoint that is just
 * gone: it gets the first, or, where there is none any more, is dropped, so that its sender tries again.
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

/** First the endpoint that a client went to before, else one by chance, which is remembered. */
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

/** Lets in the sources of loadBalancerSourceRanges only. Named by what it lets in, so that Services may share it. */
function firewallChain(builder: Builder, port: ServicePort): string {
  const ranges = [...port.sourceRanges].sort().join(", ")
  const chain = hashedName("firewall-", ranges.replaceAll(":", "_").replaceAll(/[^0-9a-f_]+/g, "."))
  builder.chains.set(chain, [`${FAMILY_WORD[port.family]} saddr != { ${ranges} } drop`])
  return chain
}
