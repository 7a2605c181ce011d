import { fromLabelSelector } from "../../pkg/apimachinery/selectors/labels.ts"
import type { LabelSelector } from "../../pkg/apimachinery/meta.ts"
import { isPodTerminal } from "../../pkg/pods/pod-state.ts"
import type { Node, Pod } from "../../components/cluster/testing/testing.ts"
import { leftOn, requestOf } from "./room.ts"

/** What a pod may require of its node, each recomputed from the objects alone. Source: kube-scheduler's filter plugins. */

type Taint = NonNullable<Node["spec"]["taints"]>[number]
interface Term {
  readonly topologyKey: string
  readonly labelSelector?: LabelSelector | undefined
}
interface Constraint extends Term {
  readonly maxSkew: number
  readonly whenUnsatisfiable: string
}

/** Returns the taints that keep the pod off the node. Source: plugins/tainttoleration, plugins/nodeunschedulable. */
export function keptOffBy(pod: Pod, node: Node): readonly string[] {
  const taints: readonly Taint[] = [
    ...(node.spec.taints ?? []),
    ...(node.spec.unschedulable === true
      ? [{ key: "node.kubernetes.io/unschedulable", value: "", effect: "NoSchedule" as const }]
      : []),
  ]
  return taints
    .filter(({ effect }) => effect !== "PreferNoSchedule")
    .filter(
      (taint) =>
        !(pod.spec.tolerations ?? []).some(
          ({ key = "", operator = "Equal", value = "", effect = "" }) =>
            (effect === "" || effect === taint.effect) &&
            (key === "" ? operator === "Exists" : key === taint.key) &&
            (operator === "Exists" || value === (taint.value ?? "")),
        ),
    )
    .map(({ key, effect }) => `${key}:${effect}`)
}

/** Whether the pod's nodeSelector and required node affinity select the node. Source: plugins/nodeaffinity. */
export function selects({ spec }: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {}
  if (Object.entries(spec.nodeSelector ?? {}).some(([key, value]) => labels[key] !== value)) return false
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  if (terms === undefined) return true
  return terms.some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length + matchFields.length === 0) return false
    const byLabels = fromLabelSelector({ matchExpressions: matchExpressions as LabelSelector["matchExpressions"] & {} })
    return (
      byLabels.matches(labels) &&
      matchFields.every(
        ({ values = [], operator }) => values.includes(node.metadata.name ?? "") === (operator === "In"),
      )
    )
  })
}

const portsOf = ({ spec }: Pod): readonly string[] =>
  spec.containers
    .flatMap(({ ports = [] }) => ports)
    .filter(({ hostPort }) => (hostPort ?? 0) > 0)
    .map(({ hostPort, protocol }) => `${protocol} ${hostPort}`)

/** Returns the pods there whose host ports the pod wants. Source: plugins/nodeports. */
export function portsTaken(pod: Pod, there: readonly Pod[]): readonly Pod[] {
  const wanted = portsOf(pod)
  return there.filter((other) => portsOf(other).some((port) => wanted.includes(port)))
}

/** Returns the resources of which the node has too little, if the pods there are all of them. */
export const lacks = (pod: Pod, node: Node, others: readonly Pod[]): readonly string[] => [
  ...(["cpu", "memory"] as const).filter((resource) => leftOn(node, others, resource) < requestOf(pod, resource)),
  ...(leftOn(node, others, "pods") < 1000 ? ["pods"] : []),
]

const matches = (term: Term, owner: Pod, other: Pod): boolean =>
  owner.metadata.namespace === other.metadata.namespace &&
  fromLabelSelector(term.labelSelector ?? {}).matches(other.metadata.labels)

const domainOf = (node: Node | undefined, { topologyKey }: Term): string | undefined =>
  node?.metadata.labels?.[topologyKey]

const nodeOf = (pod: Pod, nodes: readonly Node[]): Node | undefined =>
  nodes.find(({ metadata }) => metadata.name === pod.spec.nodeName)

const antiTerms = ({ spec }: Pod): readonly Term[] =>
  spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []

const affinityTerms = ({ spec }: Pod): readonly Term[] =>
  spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []

/** Returns the pods that may not be beside the pod, by its anti-affinity or their own. Source: plugins/interpodaffinity. */
export const keptApart = (pod: Pod, node: Node, nodes: readonly Node[], others: readonly Pod[]): readonly Pod[] =>
  others.filter((other) => {
    const there = nodeOf(other, nodes)
    const isNear = (term: Term) => domainOf(node, term) !== undefined && domainOf(node, term) === domainOf(there, term)
    return (
      antiTerms(pod).some((term) => matches(term, pod, other) && isNear(term)) ||
      antiTerms(other).some((term) => matches(term, other, pod) && isNear(term))
    )
  })

/**
 * Whether the pods that the pod's affinity requires are near; or there are none anywhere, and the pod is the first of
 * those that it wants itself.
 */
export function isNearItsOwn(pod: Pod, node: Node, nodes: readonly Node[], others: readonly Pod[]): boolean {
  const terms = affinityTerms(pod)
  if (terms.length === 0) return true
  if (terms.some((term) => domainOf(node, term) === undefined)) return false
  const wanted = others.filter((other) => other.spec.nodeName && terms.every((term) => matches(term, pod, other)))
  if (wanted.length === 0) return terms.every((term) => matches(term, pod, pod))
  return terms.every((term) => wanted.some((other) => domainOf(nodeOf(other, nodes), term) === domainOf(node, term)))
}

/**
 * Returns the constraints that would be broken on the node. `least` are the pods that are counted for the node's own
 * domain, and `most` those that are counted for the emptiest one. Source: plugins/podtopologyspread/filtering.go.
 */
export function spreadBroken(
  pod: Pod,
  node: Node,
  nodes: readonly Node[],
  { least, most }: { readonly least: readonly Pod[]; readonly most: readonly Pod[] },
): readonly string[] {
  const hard = ((pod.spec.topologySpreadConstraints ?? []) as readonly Constraint[]).filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule",
  )
  const eligible = nodes.filter(
    (one) => selects(pod, one) && hard.every((constraint) => domainOf(one, constraint) !== undefined),
  )
  return hard
    .filter((constraint) => {
      const here = domainOf(node, constraint)
      if (here === undefined) return true
      const count = (domain: string | undefined, pods: readonly Pod[]) =>
        pods.filter(
          (other) =>
            other.metadata.deletionTimestamp === undefined &&
            !isPodTerminal(other) &&
            matches(constraint, pod, other) &&
            eligible.some((one) => one.metadata.name === other.spec.nodeName && domainOf(one, constraint) === domain),
        ).length
      const domains = new Set(eligible.map((one) => domainOf(one, constraint)))
      const fewest = Math.min(...[...domains].map((domain) => count(domain, most)))
      const self = matches(constraint, pod, pod) ? 1 : 0
      return count(here, least) + self - fewest > constraint.maxSkew
    })
    .map(({ topologyKey }) => topologyKey)
}

/** Returns why the pod cannot be on the node, as all objects are now; empty if it can. */
export function hindrances(pod: Pod, node: Node, nodes: readonly Node[], pods: readonly Pod[]): readonly string[] {
  const others = pods.filter((other) => other.metadata.uid !== pod.metadata.uid && !isPodTerminal(other))
  const there = others.filter(({ spec }) => spec.nodeName === node.metadata.name)
  return [
    ...keptOffBy(pod, node).map((taint) => `taint ${taint}`),
    ...(selects(pod, node) ? [] : ["node affinity"]),
    ...lacks(pod, node, there),
    ...(portsTaken(pod, there).length > 0 ? ["host ports"] : []),
    ...(keptApart(pod, node, nodes, others).length > 0 ? ["anti-affinity"] : []),
    ...(isNearItsOwn(pod, node, nodes, others) ? [] : ["affinity"]),
    ...spreadBroken(pod, node, nodes, { least: others, most: others }).map((key) => `spread over ${key}`),
  ]
}
