import type { Node } from "../../../api/core/v1/node/node.ts"
import type { Pod } from "../../../api/core/v1/pod/pod.ts"
import type { PodAffinityTerm } from "../../../api/core/v1/pod/scheduling/affinity.ts"
import { fromLabelSelector } from "../../../apimachinery/selectors/labels.ts"
import type { Place } from "./place.ts"

const required = (pod: Pod, kind: "podAffinity" | "podAntiAffinity"): readonly PodAffinityTerm[] =>
  pod.spec.affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? []

/** Returns which required terms about other pods keep a pod from a node: codes and words. */
export function podTermObstacles(pod: Pod, node: Node, place: Place): readonly (readonly [string, string])[] {
  const nodeOf = new Map(place.nodes.map((one) => [one.metadata.name, one]))
  const inTopology = (other: Pod, key: string): boolean => {
    const [here, there] = [node.metadata.labels?.[key], nodeOf.get(other.spec.nodeName)?.metadata.labels?.[key]]
    return here !== undefined && here === there
  }
  const running = place.pods.filter(({ spec, metadata }) => Boolean(spec.nodeName) && metadata.uid !== pod.metadata.uid)
  const found: (readonly [string, string])[] = []

  for (const term of required(pod, "podAffinity")) {
    const selects = selectedBy(term, pod, place)
    if (running.some((other) => selects(other) && inTopology(other, term.topologyKey))) continue
    // The first pod of a group that selects itself may go anywhere.
    if (selects(pod) && !running.some(selects) && node.metadata.labels?.[term.topologyKey] !== undefined) continue
    const anywhere = running.some(selects)
    if (anywhere && node.metadata.labels?.[term.topologyKey] === undefined) {
      found.push([
        "pod-affinity",
        `has no label ${term.topologyKey}, by which the pod must be near pods with ${words(term)}`,
      ])
      continue
    }
    found.push([
      "pod-affinity",
      `the pod must be in the same ${term.topologyKey} as a pod with ${words(term)}, and ${anywhere ? "none is there" : `no such pod runs on any node${otherNamespaces(term, running)}`}`,
    ])
  }
  for (const term of required(pod, "podAntiAffinity")) {
    const selects = selectedBy(term, pod, place)
    const other = running.find((one) => selects(one) && inTopology(one, term.topologyKey))
    if (other !== undefined)
      found.push([
        "pod-anti-affinity",
        `the pod must not share ${term.topologyKey} with pods with ${words(term)}, and ${podName(other)} is there`,
      ])
  }
  for (const other of running)
    for (const term of required(other, "podAntiAffinity"))
      if (selectedBy(term, other, place)(pod) && inTopology(other, term.topologyKey) && found.length === 0)
        found.push(["pod-anti-affinity", `${podName(other)} there does not want this pod in its ${term.topologyKey}`])
  return found
}

/** Where pods run that a term would select if it named their namespace. */
function otherNamespaces({ labelSelector, namespaceSelector }: PodAffinityTerm, running: readonly Pod[]): string {
  const selector = fromLabelSelector(labelSelector)
  const there = running
    .filter(({ metadata }) => selector.matches(metadata.labels))
    .map(({ metadata }) => metadata.namespace)
  return namespaceSelector !== undefined || there.length === 0
    ? ""
    : ` in its own namespace; there are some in ${[...new Set(there)].join(", ")}, which the term would have to name (namespaces)`
}

const podName = ({ metadata }: Pod): string => `pod ${metadata.namespace ?? ""}/${metadata.name ?? ""}`

const words = ({ labelSelector }: PodAffinityTerm): string => {
  const text = fromLabelSelector(labelSelector).toString()
  return text === "" ? "any labels" : text
}

/** Returns which pods a term of a pod selects. */
function selectedBy(term: PodAffinityTerm, owner: Pod, { namespaceLabels }: Place): (other: Pod) => boolean {
  const selector = fromLabelSelector(term.labelSelector)
  const byLabels = term.namespaceSelector === undefined ? undefined : fromLabelSelector(term.namespaceSelector)
  const named = term.namespaces ?? []
  const alike = (other: Pod) =>
    (term.matchLabelKeys ?? []).every((key) => other.metadata.labels?.[key] === owner.metadata.labels?.[key])
  return (other) => {
    const { namespace = "" } = other.metadata
    const inNamespace =
      named.length === 0 && byLabels === undefined
        ? namespace === owner.metadata.namespace
        : named.includes(namespace) || byLabels?.matches(namespaceLabels(namespace) ?? {}) === true
    return inNamespace && selector.matches(other.metadata.labels) && alike(other)
  }
}
