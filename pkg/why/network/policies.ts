import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Service } from "../../api/core/v1/service/service.ts"
import type { NetworkPolicy } from "../../api/networking/v1/networkpolicy.ts"
import { contains, parseAddress, parseNetwork } from "../../apimachinery/addresses/cidr.ts"
import { fromLabelSelector } from "../../apimachinery/selectors/labels.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { NAMESPACES, POLICIES } from "../reading/kinds.ts"
import { targetPortIn } from "./service-pods.ts"

type IngressRule = NonNullable<NetworkPolicy["spec"]["ingress"]>[number]
export type Peer = NonNullable<IngressRule["from"]>[number]
type Port = NonNullable<IngressRule["ports"]>[number]
type Direction = "Ingress" | "Egress"

/** The namespaces' labels, where they may be read. */
type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>>

/** Where a connection goes: to a port of a Service, or of a pod itself. */
export interface Destination {
  /** As the answer names it: `web`, `pod default/web-0`. */
  readonly name: string
  readonly port: number
  /** Absent where the pod itself is asked. */
  readonly service?: Service
}

/** Returns which NetworkPolicies keep a pod from all `targets`, which are behind `to`; undefined when none does. */
export async function flowFinding(
  source: Pod,
  targets: readonly Pod[],
  { name: asked, port, service }: Destination,
  ward: Ward,
): Promise<Finding | undefined> {
  const servicePort = service?.spec.ports?.find((one) => one.port === port)
  const policies = await ward.reader.list(POLICIES)
  const namespaces = (await ward.reader.listIfAllowed(NAMESPACES)) ?? []
  const labels = new Map(namespaces.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]))
  const labelsOf: NamespaceLabels = (name) => labels.get(name) ?? { "kubernetes.io/metadata.name": name }
  const words = `${name(source)} to ${asked}:${port}`
  const refusals = targets.map((target) => {
    const number = servicePort === undefined ? port : targetPortIn(target, { ...servicePort, port })
    const at = { port: number ?? port, protocol: servicePort?.protocol ?? "TCP" }
    return (
      refusalOf(target, source, "Ingress", at, policies, labelsOf) ??
      refusalOf(source, target, "Egress", at, policies, labelsOf)
    )
  })
  const [first] = refusals
  if (first === undefined || refusals.some((one) => one === undefined)) return undefined
  const { policy, direction, selected } = first
  const other = direction === "Ingress" ? source : targets[0]!
  const wrongPort = rulesOf(policy, direction).filter((rule) =>
    isOfPeer(rule, other, policy.metadata.namespace ?? "", labelsOf),
  )
  const portNumber = servicePort === undefined ? port : (targetPortIn(targets[0]!, { ...servicePort, port }) ?? port)
  const ports = wrongPort
    .flatMap((rule) => rule.ports ?? [])
    .map(
      (one) => `${one.port ?? "all"}${one.protocol === undefined || one.protocol === "TCP" ? "" : `/${one.protocol}`}`,
    )
  const near =
    ports.length === 0
      ? ""
      : `: a rule names the right pods and port ${ports.join(", ")}, and the connection goes to port ${portNumber}` +
        (portNumber === port ? "" : ` of the pod: policies see this one, not ${port} of the Service`)
  const rules = (direction === "Ingress" ? policy.spec.ingress : policy.spec.egress) ?? []
  return finding(
    "network-policy",
    `${words} is refused: NetworkPolicy ${policy.metadata.namespace}/${policy.metadata.name} selects ${name(selected)} and ` +
      (rules.length === 0
        ? `has no ${direction.toLowerCase()} rule, so it lets nothing ${direction === "Ingress" ? "in" : "out"}`
        : `none of its ${rules.length} ${direction.toLowerCase()} rule${rules.length === 1 ? "" : "s"} lets ${direction === "Ingress" ? name(source) + " in" : "this out"}${near}`),
    { hints: ["add a rule to the policy, or a policy that allows it"] },
  )
}

const name = ({ metadata }: Pod): string => `pod ${metadata.namespace ?? ""}/${metadata.name ?? ""}`

interface Refusal {
  readonly policy: NetworkPolicy
  readonly direction: Direction
  readonly selected: Pod
}

/** Returns the policy that isolates `selected` and lets nothing of `other` through; undefined where one allows it. */
function refusalOf(
  selected: Pod,
  other: Pod,
  direction: Direction,
  at: { readonly port: number; readonly protocol: string },
  policies: readonly NetworkPolicy[],
  labelsOf: NamespaceLabels,
): Refusal | undefined {
  if (selected.spec.hostNetwork === true) return undefined
  const isolating = policies.filter(
    (policy) =>
      policy.metadata.namespace === selected.metadata.namespace &&
      directionsOf(policy).includes(direction) &&
      fromLabelSelector(policy.spec.podSelector ?? {}).matches(selected.metadata.labels),
  )
  const allows = ({ spec, metadata }: NetworkPolicy) => {
    return rulesOf({ spec }, direction).some((rule) => {
      // In egress rules the port is that of the other pod too, whose named ports count.
      const named = direction === "Ingress" ? selected : other
      return (
        isOfPeer(rule, other, metadata.namespace ?? "", labelsOf) &&
        (rule.ports === undefined || rule.ports.length === 0 || rule.ports.some((port) => isPort(port, at, named)))
      )
    })
  }
  const [policy] = isolating
  return policy === undefined || isolating.some(allows) ? undefined : { policy, direction, selected }
}

type Rule = { readonly peers: readonly Peer[]; readonly ports?: IngressRule["ports"] }

const rulesOf = ({ spec }: Pick<NetworkPolicy, "spec">, direction: Direction): readonly Rule[] =>
  direction === "Ingress"
    ? (spec.ingress ?? []).map(({ from = [], ports }) => ({ peers: from, ports }))
    : (spec.egress ?? []).map(({ to = [], ports }) => ({ peers: to, ports }))

/** Whether a rule is about a pod, at whatever port. */
const isOfPeer = ({ peers }: Rule, other: Pod, own: string, labelsOf: NamespaceLabels): boolean =>
  peers.length === 0 || peers.some((peer) => isPeer(peer, other, own, labelsOf))

export const selectsPod = ({ spec }: NetworkPolicy, pod: Pod): boolean =>
  fromLabelSelector(spec.podSelector ?? {}).matches(pod.metadata.labels)

export const directionsOf = ({ spec }: NetworkPolicy): readonly string[] =>
  spec.policyTypes ?? (spec.egress === undefined ? ["Ingress"] : ["Ingress", "Egress"])

function isPeer(
  { podSelector, namespaceSelector, ipBlock }: Peer,
  other: Pod,
  own: string,
  labelsOf: NamespaceLabels,
): boolean {
  if (ipBlock !== undefined) {
    const address = parseAddress(other.status.podIP ?? "")
    const inside = (cidr: string) => {
      const network = parseNetwork(cidr)
      return network !== undefined && address !== undefined && contains(network, address)
    }
    return inside(ipBlock.cidr) && !(ipBlock.except ?? []).some(inside)
  }
  const { namespace = "", labels } = other.metadata
  const inNamespace =
    namespaceSelector === undefined
      ? namespace === own
      : fromLabelSelector(namespaceSelector).matches(labelsOf(namespace))
  return inNamespace && (podSelector === undefined || fromLabelSelector(podSelector).matches(labels))
}

function isPort(
  { port, endPort, protocol = "TCP" }: Port,
  at: { readonly port: number; readonly protocol: string },
  target: Pod,
): boolean {
  if (protocol !== at.protocol) return false
  if (port === undefined) return true
  if (typeof port === "string")
    return target.spec.containers.some(({ ports }) =>
      ports?.some((one) => one.name === port && one.containerPort === at.port),
    )
  return endPort === undefined ? port === at.port : at.port >= port && at.port <= endPort
}

/** Returns the policy that lets nobody to a pod; undefined where some policy has a rule, or none selects the pod. */
export function closingPolicy(pod: Pod, policies: readonly NetworkPolicy[]): NetworkPolicy | undefined {
  if (pod.spec.hostNetwork === true) return undefined
  const selecting = policies.filter(
    (policy) =>
      directionsOf(policy).includes("Ingress") &&
      fromLabelSelector(policy.spec.podSelector ?? {}).matches(pod.metadata.labels),
  )
  return selecting.some(({ spec }) => (spec.ingress ?? []).length > 0) ? undefined : selecting[0]
}
