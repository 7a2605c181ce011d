import { parseAddress } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import type { Labels } from "../../../../pkg/apimachinery/selectors/labels.ts"
import { keyFrom } from "../../../../pkg/client/informer.ts"
import type { NetworkPolicy } from "../../../../pkg/api/networking/v1/networkpolicy.ts"
import type { AddressRange } from "../../../network-policy/address-ranges.ts"
import type { PodPort } from "../../../network-policy/pod-facts.ts"
import { policyRules, type Direction, type PolicyRule, type PolicyRules } from "../../../network-policy/policy-rules.ts"

/** One end of a connection. */
export interface Party {
  readonly ip: string
  /** What policies know of the pod; undefined for a node, a pod in the network of its node, and what is outside. */
  readonly pod: { readonly namespace: string; readonly labels: Labels; readonly ports: readonly PodPort[] } | undefined
  /** The node of the pod, or the node itself. */
  readonly node: string | undefined
  /** Whether it is a node. */
  readonly isNode: boolean
}

export interface Connection {
  readonly from: Party
  readonly to: Party
  readonly port: number
  readonly protocol: "TCP" | "UDP"
}

/** The rules of each policy, which are the same as long as the policy is. */
const known = new WeakMap<NetworkPolicy, PolicyRules>()

/**
 * Returns why NetworkPolicies forbid a connection; undefined when they allow it. `namespaceLabels` returns the labels
 * of a namespace. Source: k8s.io/api networking/v1/types.go.
 */
export function forbidden(
  policies: readonly NetworkPolicy[],
  connection: Connection,
  namespaceLabels: (name: string) => Labels,
): string | undefined {
  const { from, to } = connection
  // A node and its own pods always reach each other.
  if (policies.length === 0 || (from.ip === to.ip && from.pod !== undefined)) return undefined
  if (from.node !== undefined && from.node === to.node && (from.isNode || to.isNode)) return undefined
  return (
    forbiddenBy(policies, "egress", from, to, connection, namespaceLabels) ??
    forbiddenBy(policies, "ingress", to, from, connection, namespaceLabels)
  )
}

function forbiddenBy(
  policies: readonly NetworkPolicy[],
  direction: Direction,
  { pod }: Party,
  peer: Party,
  connection: Connection,
  namespaceLabels: (name: string) => Labels,
): string | undefined {
  if (pod === undefined) return undefined
  const isolating = policies.filter((policy) => {
    const { namespace, subjects, rules } = rulesOf(policy)
    return namespace === pod.namespace && rules[direction] !== undefined && subjects.matches(pod.labels)
  })
  const isAllowed = isolating.some((policy) =>
    rulesOf(policy).rules[direction]!.some((rule) => isPeer(rule, peer, namespaceLabels) && isPort(rule, connection)),
  )
  if (isolating.length === 0 || isAllowed) return undefined
  const names = isolating.map(({ metadata }) => keyFrom(metadata)).join(", ")
  return `no rule of NetworkPolicy ${names} allows this ${direction}`
}

function rulesOf(policy: NetworkPolicy): PolicyRules {
  let rules = known.get(policy)
  if (rules === undefined) known.set(policy, (rules = policyRules(policy)))
  return rules
}

function isPeer({ peers }: PolicyRule, { ip, pod }: Party, namespaceLabels: (name: string) => Labels): boolean {
  if (peers === undefined) return true
  const address = parseAddress(ip)
  const isIn = ({ family, first, last }: AddressRange) =>
    address?.family === family && first <= address.number && address.number <= last
  if (peers.ranges.some(isIn)) return true
  if (pod === undefined) return false
  return peers.pods.some(
    ({ namespaces, pods }) =>
      (typeof namespaces === "string"
        ? namespaces === pod.namespace
        : namespaces.matches(namespaceLabels(pod.namespace))) && pods.matches(pod.labels),
  )
}

function isPort({ ports }: PolicyRule, { to, port, protocol }: Connection): boolean {
  if (ports === undefined) return true
  return (
    ports.ranges.some((range) => range.protocol === protocol && range.first <= port && port <= range.last) ||
    ports.names.some(
      (named) =>
        named.protocol === protocol &&
        (to.pod?.ports ?? []).some(
          (one) => one.name === named.name && one.protocol === protocol && one.number === port,
        ),
    )
  )
}
