import type { LabelMatcher } from "../../pkg/apimachinery/labels.ts"
import { fromLabelSelector } from "../../pkg/apimachinery/labels.ts"
import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from "../../pkg/api/networking/v1/networkpolicy.ts"
import { merged, rangesOf, type AddressRange } from "./address-ranges.ts"

export type Direction = "ingress" | "egress"
export type Protocol = "TCP" | "UDP" | "SCTP"

/** Pods by the labels of their namespaces and their own. */
export interface PodSelection {
  /** Equal for selections that have the same pods by the same words, whichever policy they stand in. */
  readonly key: string
  /** The one namespace, or a matcher of namespaces' labels. */
  readonly namespaces: string | LabelMatcher
  readonly pods: LabelMatcher
}

/** Ports by number, from `first` to `last`. */
export interface PortRange {
  readonly protocol: Protocol
  readonly first: number
  readonly last: number
}

/** The port that a container of the destination has under this name. */
export interface NamedPort {
  readonly protocol: Protocol
  readonly name: string
}

/** One rule of a policy: allows what has one of the peers and one of the ports. */
export interface PolicyRule {
  /** `undefined` for any. One that is there and empty matches nobody. */
  readonly peers: { readonly pods: readonly PodSelection[]; readonly ranges: readonly AddressRange[] } | undefined
  /** `undefined` for any, and for protocols without ports. */
  readonly ports: { readonly ranges: readonly PortRange[]; readonly names: readonly NamedPort[] } | undefined
}

/** What a NetworkPolicy says, apart from how it is written. */
export interface PolicyRules {
  readonly namespace: string
  readonly subjects: LabelMatcher
  /** Directions in which the subjects are isolated, each with what is allowed nevertheless. */
  readonly rules: Readonly<Partial<Record<Direction, readonly PolicyRule[]>>>
}

/** Source: k8s.io/api networking/v1/types.go. */
export function policyRules({ metadata, spec }: NetworkPolicy): PolicyRules {
  const { namespace = "" } = metadata
  const { policyTypes = [], ingress = [], egress = [] } = spec
  const rule = (peers: readonly NetworkPolicyPeer[] = [], ports: readonly NetworkPolicyPort[] = []): PolicyRule => ({
    peers: peers.length === 0 ? undefined : peersOf(namespace, peers),
    ports: ports.length === 0 ? undefined : portsOf(ports),
  })
  return {
    namespace,
    subjects: fromLabelSelector(spec.podSelector),
    rules: {
      ...(policyTypes.includes("Ingress") ? { ingress: ingress.map(({ from, ports }) => rule(from, ports)) } : {}),
      ...(policyTypes.includes("Egress") ? { egress: egress.map(({ to, ports }) => rule(to, ports)) } : {}),
    },
  }
}

function peersOf(namespace: string, peers: readonly NetworkPolicyPeer[]): NonNullable<PolicyRule["peers"]> {
  const blocks = peers.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [ipBlock]))
  const pods = peers.filter(({ ipBlock }) => ipBlock === undefined).map((peer) => podSelection(namespace, peer))
  return {
    pods: [...new Map(pods.map((selection) => [selection.key, selection])).values()],
    ranges: merged(blocks.flatMap(rangesOf)),
  }
}

/** Without a selector of pods all of the namespaces' are meant; without one of namespaces the policy's own. */
function podSelection(namespace: string, { podSelector, namespaceSelector }: NetworkPolicyPeer): PodSelection {
  const pods = fromLabelSelector(podSelector ?? {})
  if (namespaceSelector === undefined) return { key: `${namespace}|${keyOf(pods)}`, namespaces: namespace, pods }
  const namespaces = fromLabelSelector(namespaceSelector)
  return { key: `{${keyOf(namespaces)}}|${keyOf(pods)}`, namespaces, pods }
}

const keyOf = ({ requirements }: LabelMatcher): string =>
  requirements.map(({ key, operator, values }) => `${key} ${operator} ${values.join(",")}`).join(";")

function portsOf(ports: readonly NetworkPolicyPort[]): NonNullable<PolicyRule["ports"]> {
  const ranges: PortRange[] = []
  const names = new Map<string, NamedPort>()
  for (const { protocol: named = "TCP", port, endPort } of ports) {
    const protocol = named as Protocol
    if (typeof port === "string") names.set(`${protocol} ${port}`, { protocol, name: port })
    else if (port === undefined) ranges.push({ protocol, first: 0, last: 65535 })
    else ranges.push({ protocol, first: port, last: endPort ?? port })
  }
  return { ranges, names: [...names.values()] }
}
