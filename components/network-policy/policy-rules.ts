import type { LabelMatcher } from "../../pkg/apimachinery/selectors/labels.ts"
import { fromLabelSelector } from "../../pkg/apimachinery/selectors/labels.ts"
import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from "../../pkg/api/networking/v1/networkpolicy.ts"
import { exactKey } from "../../pkg/cache/exact-key.ts"
import { merged, rangesOf, type AddressRange } from "./address-ranges.ts"

export type Direction = "ingress" | "egress"
export type Protocol = "TCP" | "UDP" | "SCTP"

/** Selects pods by the labels of their namespaces and their own. */
export interface PodSelection {
  /** Equal for selections that are written alike and so have the same pods, whichever policy they are in. */
  readonly key: string
  /** The name of one namespace, or a matcher of namespaces' labels. */
  readonly namespaces: string | LabelMatcher
  readonly pods: LabelMatcher
}

/** Ports by number, from `first` to `last`. */
export interface PortRange {
  readonly protocol: Protocol
  readonly first: number
  readonly last: number
}

/** A named port of a container of the destination. */
export interface NamedPort {
  readonly protocol: Protocol
  readonly name: string
}

/** One rule of a policy: allows connections with one of the peers on one of the ports. */
export interface PolicyRule {
  /** Undefined for any peer. Empty lists match none. */
  readonly peers: { readonly pods: readonly PodSelection[]; readonly ranges: readonly AddressRange[] } | undefined
  /** Undefined for any port, and for protocols without ports. */
  readonly ports: { readonly ranges: readonly PortRange[]; readonly names: readonly NamedPort[] } | undefined
}

/** The content of a NetworkPolicy, independent of its notation. */
export interface PolicyRules {
  readonly namespace: string
  readonly subjects: LabelMatcher
  /** The directions in which the selected pods are isolated, each with the rules that allow connections. */
  readonly rules: Readonly<Partial<Record<Direction, readonly PolicyRule[]>>>
}

/** Returns the rules of a NetworkPolicy. Source: k8s.io/api networking/v1/types.go. */
export function policyRules({ metadata, spec }: Pick<NetworkPolicy, "metadata" | "spec">): PolicyRules {
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

/**
 * Returns rules that isolate the pods of a policy of which nothing else can be made; all pods of its namespace where
 * not even that is known.
 */
export function isolatingPods({ metadata, spec }: NetworkPolicy): PolicyRules {
  const { namespace = "" } = metadata
  try {
    const { podSelector, policyTypes = [] } = spec
    return policyRules({ metadata, spec: { podSelector, policyTypes } })
  } catch {
    return { namespace, subjects: fromLabelSelector({}), rules: { ingress: [], egress: [] } }
  }
}

/** Returns rules that isolate the same pods in the same directions, and allow nothing. */
export const isolating = ({ namespace, subjects, rules }: PolicyRules): PolicyRules => ({
  namespace,
  subjects,
  rules: Object.fromEntries(Object.keys(rules).map((direction) => [direction, []])),
})

function peersOf(namespace: string, peers: readonly NetworkPolicyPeer[]): NonNullable<PolicyRule["peers"]> {
  const blocks = peers.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [ipBlock]))
  const pods = peers.filter(({ ipBlock }) => ipBlock === undefined).map((peer) => podSelection(namespace, peer))
  return {
    pods: [...new Map(pods.map((selection) => [selection.key, selection])).values()],
    ranges: merged(blocks.flatMap(rangesOf)),
  }
}

/**
 * Without podSelector all pods of the namespaces are selected; without namespaceSelector those of the policy's own
 * namespace.
 */
function podSelection(namespace: string, { podSelector, namespaceSelector }: NetworkPolicyPeer): PodSelection {
  const pods = fromLabelSelector(podSelector ?? {})
  if (namespaceSelector === undefined)
    return { key: exactKey(["in", namespace, keyOf(pods)]), namespaces: namespace, pods }
  const namespaces = fromLabelSelector(namespaceSelector)
  return { key: exactKey(["of", keyOf(namespaces), keyOf(pods)]), namespaces, pods }
}

const keyOf = ({ requirements }: LabelMatcher): string =>
  exactKey(requirements.flatMap(({ key, operator, values }) => [key, operator, exactKey(values)]))

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
