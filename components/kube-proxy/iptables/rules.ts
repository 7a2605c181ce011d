import { createHash } from "node:crypto"
import { joinHostPort, type Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { OwnPort } from "../../../pkg/component/own-ports.ts"
import { endpointsOf, type ServicePort } from "../service-ports.ts"
import type { Endpoint } from "../topology.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"

/** The chains of one table, each with its rules as iptables-restore reads them, without `-A CHAIN`. */
export type Chains = Map<string, string[]>
export interface Ruleset {
  readonly nat: Chains
  readonly filter: Chains
}

export interface RulesConfig {
  readonly family: Family
  /**
   * The range of the cluster's pod addresses in the family. Traffic to a Service from other addresses is masqueraded.
   */
  readonly clusterCidr: string
  /** The ranges of Services' cluster IPs in the family. */
  readonly serviceCidrs: readonly string[]
  /** The ranges of this node's addresses in the family at which node ports are served; none for all addresses. */
  readonly nodePortCidrs: readonly string[]
  /** See `KubeProxyConfig`, in the family. */
  readonly ownAddresses: readonly string[]
  readonly ownPorts: readonly OwnPort[]
}

/** The mark on packets that POSTROUTING has to masquerade. Source: --iptables-masquerade-bit 14. */
const MASQUERADE = "0x4000/0x4000"

/** Matches packets to any address of the machine. */
const OF_MACHINE = "-m addrtype --dst-type LOCAL"
/**
 * Matches packets to the node's addresses, at which node ports are served; ::1 is left out, since the kernel drops
 * packets that return to it from elsewhere.
 */
const OF_NODE: Readonly<Record<Family, string>> = {
  IPv4: OF_MACHINE,
  IPv6: `! -d ::1/128 ${OF_MACHINE}`,
}

const comment = (text: string): string => `-m comment --comment "${text}"`

/**
 * Returns all rules for these Service ports, which must be of one family. A connection goes KUBE-SERVICES → (KUBE-EXT-…
 * from outside →) KUBE-SVC-… or KUBE-SVL-… (local endpoints only) → KUBE-SEP-…, which rewrites its destination. Source:
 * pkg/proxy/iptables/proxier.go syncProxyRules; the chains have upstream's names, for which other programs search.
 */
export function rulesFor(ports: readonly ServicePort[], config: RulesConfig): Ruleset {
  const nat: Chains = new Map([
    ["KUBE-SERVICES", toOwnListeners(config)],
    ["KUBE-NODEPORTS", []],
    ["KUBE-MARK-MASQ", ["-j MARK --or-mark 0x4000"]],
    [
      "KUBE-POSTROUTING",
      [
        `-m mark ! --mark ${MASQUERADE} -j RETURN`,
        "-j MARK --xor-mark 0x4000",
        `${comment("kubernetes service traffic requiring SNAT")} -j MASQUERADE --random-fully`,
      ],
    ],
  ])
  const filter: Chains = new Map([
    ["KUBE-SERVICES", []],
    ["KUBE-EXTERNAL-SERVICES", []],
    ["KUBE-NODEPORTS", []],
    ["KUBE-PROXY-FIREWALL", []],
    [
      "KUBE-FORWARD",
      [
        "-m conntrack --ctstate INVALID -j DROP",
        `${comment("kubernetes forwarding rules")} -m mark --mark ${MASQUERADE} -j ACCEPT`,
        `${comment("kubernetes forwarding conntrack rule")} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
      ],
    ],
    // Node ports can also be reached on loopback, which needs route_localnet; this rule keeps other hosts from using
    // that. For ::1 the kernel itself drops such packets.
    [
      "KUBE-FIREWALL",
      config.family === "IPv6"
        ? []
        : [
            `${comment("block incoming localnet connections")} ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m conntrack ! ` +
              "--ctstate RELATED,ESTABLISHED,DNAT -j DROP",
          ],
    ],
  ])
  // After the rules of all cluster IPs, so that no address that somebody wrote into a Service is before these.
  const toOutside: string[] = []
  for (const port of ports) addPort(port, config, { nat, filter, toOutside })
  addStrays(ports, config, filter)
  pushAll(
    nat.get("KUBE-SERVICES")!,
    toOutside,
    ofNodePorts(config).map(
      (destination) =>
        `${comment("kubernetes service nodeports; NOTE: this must be the last rule in this chain")} ` +
        `${destination} -j KUBE-NODEPORTS`,
    ),
  )
  return { nat, filter }
}

/**
 * Returns the rules by which packets to listeners of this program keep their destination: they see no other rule of the
 * table, nor those of the CNI plugin for host ports.
 */
const toOwnListeners = ({ ownAddresses, ownPorts }: RulesConfig): string[] => {
  const what = comment("kubernetes listeners of the node itself")
  return [
    ...ownAddresses.map((ip) => `${what} -d ${ip} -j ACCEPT`),
    ...ownPorts.map(({ port, protocol }) => {
      const name = protocol.toLowerCase()
      return `${what} -m ${name} -p ${name} ${OF_MACHINE} --dport ${port} -j ACCEPT`
    }),
  ]
}

/** What matches the addresses at which node ports are served, for a rule each. */
const ofNodePorts = ({ family, nodePortCidrs }: RulesConfig): readonly string[] =>
  nodePortCidrs.length === 0 ? [OF_NODE[family]] : nodePortCidrs.map((cidr) => `-d ${cidr} ${OF_MACHINE}`)

function addPort(
  port: ServicePort,
  { clusterCidr }: RulesConfig,
  { nat, filter, toOutside }: Ruleset & { readonly toOutside: string[] },
): void {
  const hash = hashOf(port.name, port.protocol)
  const [svc, svl, ext] = [`KUBE-SVC-${hash}`, `KUBE-SVL-${hash}`, `KUBE-EXT-${hash}`]
  const firewall = `KUBE-FW-${hash}`
  const to = (ip: string) => `-m ${port.protocol} -p ${port.protocol} -d ${ip} --dport ${port.port}`
  const toNodePort = `-m ${port.protocol} -p ${port.protocol} --dport ${port.nodePort}`
  const outsideIps = [...new Set([...port.externalIps, ...port.loadBalancerIps])]
  const outside = port.nodePort !== undefined || outsideIps.length > 0

  // Packets without a usable endpoint are refused (there is none at all) or dropped (there are some, but not on this
  // node), so that they never leave the node by mistake.
  const inside = port.internalLocal ? port.local : port.cluster
  const nowhere = (none: "endpoints" | "local endpoints") => `${comment(`${port.name} has no ${none}`)}`
  if (inside.length === 0)
    filter
      .get("KUBE-SERVICES")!
      .push(
        `${nowhere(port.cluster.length === 0 ? "endpoints" : "local endpoints")} ${to(port.clusterIp)} ` +
          `${refuse(port)}`,
      )
  const fromOutside = port.externalLocal ? port.local : port.cluster
  if (outside && fromOutside.length === 0) {
    const what = nowhere(port.cluster.length === 0 ? "endpoints" : "local endpoints")
    for (const ip of outsideIps) filter.get("KUBE-EXTERNAL-SERVICES")!.push(`${what} ${to(ip)} ${refuse(port)}`)
    if (port.nodePort !== undefined)
      filter.get("KUBE-EXTERNAL-SERVICES")!.push(`${what} ${OF_NODE[port.family]} ${toNodePort} ${refuse(port)}`)
  }
  if (port.healthCheckNodePort !== undefined) {
    filter
      .get("KUBE-NODEPORTS")!
      .push(
        `${comment(`${port.name} health check node port`)} -m tcp -p tcp --dport ${port.healthCheckNodePort} -j ACCEPT`,
      )
  }
  if (port.cluster.length === 0) return

  if (inside.length > 0)
    nat
      .get("KUBE-SERVICES")!
      .push(`${comment(`${port.name} cluster IP`)} ${to(port.clusterIp)} -j ${port.internalLocal ? svl : svc}`)
  if (outside) {
    for (const ip of port.externalIps) toOutside.push(`${comment(`${port.name} external IP`)} ${to(ip)} -j ${ext}`)
    // Packets that loadBalancerSourceRanges do not allow keep their destination, by which the filter table recognizes
    // them.
    const isFirewalled = port.sourceRanges.length > 0
    for (const ip of port.loadBalancerIps) {
      toOutside.push(`${comment(`${port.name} loadbalancer IP`)} ${to(ip)} -j ${isFirewalled ? firewall : ext}`)
      if (isFirewalled)
        filter
          .get("KUBE-PROXY-FIREWALL")!
          .push(`${comment(`${port.name} traffic not accepted by loadBalancerSourceRanges`)} ${to(ip)} -j DROP`)
    }
    if (isFirewalled && port.loadBalancerIps.length > 0)
      nat.set(
        firewall,
        port.sourceRanges.map((range) => `${comment(`${port.name} loadbalancer IP`)} -s ${range} -j ${ext}`),
      )
    if (port.nodePort !== undefined) nat.get("KUBE-NODEPORTS")!.push(`${comment(port.name)} ${toNodePort} -j ${ext}`)
    nat.set(ext, externalChain(port, clusterCidr, svc, svl))
  }
  const masqueradeFromOutside = `${comment(`${port.name} cluster IP`)} ${to(port.clusterIp)} ! -s ${clusterCidr} -j KUBE-MARK-MASQ`
  const usesCluster = !port.internalLocal || outside
  const usesLocal = port.local.length > 0 && (port.internalLocal || (outside && port.externalLocal))
  if (usesCluster) nat.set(svc, [masqueradeFromOutside, ...balance(port, port.cluster)])
  if (usesLocal) nat.set(svl, [...(port.internalLocal ? [masqueradeFromOutside] : []), ...balance(port, port.local)])
  for (const endpoint of usesCluster ? endpointsOf(port) : port.local)
    nat.set(endpointChain(port, endpoint), endpointRules(port, endpoint))
}

/**
 * Adds rules for packets to addresses of Services that no other rule has handled. Those to a port that the Service does
 * not have are refused. Those to an address without a Service are dropped: it may get one in a moment, and the client
 * tries again. Without these rules both would leave by the default route. Addresses of the machine itself, such as that
 * of the cluster's DNS, are left alone. Only packets to these ranges enter the chain, so others cost one comparison per
 * range. Source: the chains cluster-ips-check of pkg/proxy/nftables/proxier.go; upstream's iptables mode has no such
 * rules.
 */
function addStrays(ports: readonly ServicePort[], { serviceCidrs }: RulesConfig, filter: Chains): void {
  for (const range of serviceCidrs)
    filter
      .get("KUBE-SERVICES")!
      .push(
        `${comment("ports and addresses that no Service has")} -d ${range} -m addrtype ! --dst-type LOCAL -j ` +
          "KUBE-CLUSTER-IPS",
      )
  const addresses = [...new Set(ports.map(({ clusterIp }) => clusterIp))].sort()
  filter.set("KUBE-CLUSTER-IPS", [
    ...addresses.flatMap((ip) => [`-d ${ip} -p tcp -j REJECT --reject-with tcp-reset`, `-d ${ip} -j REJECT`]),
    "-j DROP",
  ])
}

/**
 * Differs from upstream, which refuses TCP by ICMP too: a client on this node gets the ICMP message while it is still
 * sending, does not notice it, and is refused only a second later.
 */
const refuse = ({ cluster, protocol }: ServicePort): string =>
  cluster.length > 0 ? "-j DROP" : protocol === "tcp" ? "-j REJECT --reject-with tcp-reset" : "-j REJECT"

/**
 * Returns the rules for traffic from outside: masqueraded and distributed to all endpoints, or (externalTrafficPolicy
 * Local) only to those of this node, with its source address.
 */
function externalChain(port: ServicePort, clusterCidr: string, svc: string, svl: string): string[] {
  const what = port.name
  if (!port.externalLocal)
    return [`${comment(`masquerade traffic for ${what} external destinations`)} -j KUBE-MARK-MASQ`, `-j ${svc}`]
  return [
    `${comment(`pod traffic for ${what} external destinations`)} -s ${clusterCidr} -j ${svc}`,
    `${comment(`masquerade LOCAL traffic for ${what} external destinations`)} -m addrtype --src-type LOCAL -j ` +
      "KUBE-MARK-MASQ",
    `${comment(`route LOCAL traffic for ${what} external destinations`)} -m addrtype --src-type LOCAL -j ${svc}`,
    ...(port.local.length > 0 ? [`-j ${svl}`] : []),
  ]
}

/**
 * Returns the rules that choose an endpoint: first by the client's affinity, then at random, where the i-th of n rules
 * takes 1/(n-i) of the packets that reach it.
 */
function balance(port: ServicePort, endpoints: readonly Endpoint[]): string[] {
  const chains = endpoints.map((endpoint) => ({
    name: endpointChain(port, endpoint),
    what: comment(`${port.name} -> ${joinHostPort(endpoint.ip, endpoint.port)}`),
  }))
  const sticky =
    port.affinitySeconds === undefined
      ? []
      : chains.map(
          ({ name, what }) =>
            `${what} -m recent --name ${name} --rcheck --seconds ${port.affinitySeconds} --reap -j ${name}`,
        )
  const random = chains.map(({ name, what }, i) => {
    const left = chains.length - i
    return left === 1
      ? `${what} -j ${name}`
      : `${what} -m statistic --mode random --probability ${(1 / left).toFixed(10)} -j ${name}`
  })
  return [...sticky, ...random]
}

/**
 * Returns the rules of an endpoint. A pod that reaches itself through the Service is masqueraded (hairpin), since the
 * response would not be translated back otherwise.
 */
function endpointRules(port: ServicePort, { ip, port: number }: Endpoint): string[] {
  const set =
    port.affinitySeconds === undefined
      ? ""
      : ` -m recent --name ${endpointChain(port, { ip, port: number, local: false })} --set`
  return [
    `${comment(port.name)} -s ${ip} -j KUBE-MARK-MASQ`,
    `${comment(port.name)}${set} -m ${port.protocol} -p ${port.protocol} -j DNAT --to-destination ${joinHostPort(ip, number)}`,
  ]
}

const endpointChain = (port: ServicePort, { ip, port: number }: Endpoint): string =>
  `KUBE-SEP-${hashOf(port.name, port.protocol, joinHostPort(ip, number))}`

/** Returns 16 characters of base32, since names of chains have at most 28. Source: portProtoHash. */
function hashOf(...parts: readonly string[]): string {
  const digest = createHash("sha256").update(parts.join("")).digest()
  let bits = 0n
  for (const byte of digest.subarray(0, 10)) bits = (bits << 8n) | BigInt(byte)
  return Array.from({ length: 16 }, (_, i) => BASE32[Number((bits >> BigInt(75 - 5 * i)) & 31n)]).join("")
}
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
