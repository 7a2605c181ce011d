import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import {
  bounds,
  MAX_SCORE,
  SKIP,
  SUCCESS,
  unresolvable,
  unschedulable,
  type NodeList,
  type Plugin,
} from "../framework.ts"
import type { InterPodAffinityArgs } from "../config/plugin-args.ts"
import type { NodeInfo } from "../node-info.ts"
import { TermSet, TopologyCounts, type NamespaceLabels } from "./pod-terms.ts"

const NAME = "InterPodAffinity"

/** Made by preFilter, once for each pod. */
interface State extends Places {
  readonly near: TermSet
  readonly away: TermSet
  readonly matchesItself: boolean
}

interface Places {
  /**
   * Topology values with pods that match every affinity term, with pods that match an anti-affinity term, and with pods
   * whose anti-affinity matches this pod: whether there are any.
   */
  readonly nearPlaces: TopologyCounts
  readonly awayPlaces: TopologyCounts
  readonly refusedPlaces: TopologyCounts
}

/**
 * Filters nodes by the pod's required affinity and anti-affinity to other pods and by the anti-affinity of those pods,
 * and scores nodes by the preferences of both. Source: plugins/interpodaffinity.
 */
export const interPodAffinity = (namespaceLabels: NamespaceLabels, args: InterPodAffinityArgs): Plugin => ({
  name: NAME,
  eventsToRegister: [
    "Node/Add",
    "Node/UpdateLabel",
    "AssignedPod/Add",
    "AssignedPod/UpdateLabel",
    "AssignedPod/Delete",
    "Pod/Update",
  ],
  looksAtAllNodes: true,
  preFilter(state, pod, nodes) {
    const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {}
    const near = TermSet.of(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution)
    const away = TermSet.of(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution)
    const hasTerms = !near.isEmpty || !away.isEmpty
    const places: Places = {
      nearPlaces: new TopologyCounts(),
      awayPlaces: new TopologyCounts(),
      refusedPlaces: new TopologyCounts(),
    }
    for (const info of hasTerms ? nodes.list : nodes.withAntiAffinity)
      for (const other of hasTerms ? info.pods.values() : info.antiAffinityPods)
        mark(places, { near, away }, pod, other, info, namespaceLabels)
    if (!hasTerms && places.refusedPlaces.empty) return SKIP
    const matchesItself = near.everyMatches(pod, pod, namespaceLabels)
    state.set(NAME, { near, away, ...places, matchesItself } satisfies State)
    return SUCCESS
  },
  addPod(state, pod, added, node) {
    const before = state.get(NAME) as State
    const places: Places = {
      nearPlaces: before.nearPlaces.copy(),
      awayPlaces: before.awayPlaces.copy(),
      refusedPlaces: before.refusedPlaces.copy(),
    }
    mark(places, before, pod, added, node, namespaceLabels)
    state.set(NAME, { ...before, ...places } satisfies State)
  },
  filter(state, _pod, { node }) {
    const { near, nearPlaces, awayPlaces, refusedPlaces, matchesItself } = state.get(NAME) as State
    const labels = node.metadata.labels ?? {}
    const isNear = [...near.topologyKeys].every((key) => nearPlaces.get(key, labels[key]) > 0)
    // The first pod of a group with affinity to itself may go to any node with the topology labels, because no pod
    // matches yet.
    const isFirst =
      nearPlaces.empty && matchesItself && [...near.topologyKeys].every((key) => labels[key] !== undefined)
    if (!isNear && !isFirst) return unresolvable("node(s) didn't match pod affinity rules")
    if (!awayPlaces.empty && Object.entries(labels).some(([key, value]) => awayPlaces.get(key, value) > 0))
      return unschedulable("node(s) didn't match pod anti-affinity rules")
    if (Object.entries(labels).some(([key, value]) => refusedPlaces.get(key, value) > 0))
      return unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")
    return SUCCESS
  },
  preScore(state, pod, _nodes, allNodes) {
    const places = preferredPlaces(pod, allNodes, namespaceLabels, args)
    if (places === undefined) return SKIP
    state.set(`${NAME}/score`, places)
    return SUCCESS
  },
  score(state, _pod, { node }) {
    const places = state.get(`${NAME}/score`) as TopologyCounts
    return Object.entries(node.metadata.labels ?? {}).reduce((sum, [key, value]) => sum + places.get(key, value), 0)
  },
  normalize(scores) {
    const [least, most] = bounds(scores)
    for (const [i, score] of scores.entries())
      scores[i] = most === least ? 0 : Math.floor((MAX_SCORE * (score - least)) / (most - least))
  },
})

/** Adds to `places` those of the node where another pod on it attracts, repels or refuses the pod. */
function mark(
  { nearPlaces, awayPlaces, refusedPlaces }: Places,
  { near, away }: Pick<State, "near" | "away">,
  pod: Pod,
  other: Pod,
  { node }: NodeInfo,
  namespaceLabels: NamespaceLabels,
): void {
  const labels = node.metadata.labels ?? {}
  if (!near.isEmpty && near.everyMatches(pod, other, namespaceLabels))
    for (const key of near.topologyKeys) nearPlaces.add(key, labels[key], 1)
  away.mark(awayPlaces, pod, other, labels, namespaceLabels)
  const others = TermSet.of(other.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution)
  others.mark(refusedPlaces, other, pod, labels, namespaceLabels)
}

/**
 * Returns weights of topology values by the preferences of the pod and of existing pods; undefined where there are
 * none.
 */
function preferredPlaces(
  pod: Pod,
  nodes: NodeList,
  namespaceLabels: NamespaceLabels,
  { hardPodAffinityWeight, ignorePreferredTermsOfExistingPods }: InterPodAffinityArgs,
): TopologyCounts | undefined {
  const own = preferredTermsOf(pod)
  const hasPreferences = own.some(({ terms }) => !terms.isEmpty)
  if (ignorePreferredTermsOfExistingPods && !hasPreferences) return undefined
  const places = new TopologyCounts()
  for (const info of hasPreferences ? nodes.list : nodes.withAffinity) {
    const labels = info.node.metadata.labels ?? {}
    const addAll = (preferred: readonly PreferredTerms[], of: Pod, about: Pod) => {
      for (const { terms, factor } of preferred)
        for (const { topologyKey, weight } of terms.matching(of, about, labels, namespaceLabels))
          places.add(topologyKey, labels[topologyKey], factor * weight)
    }
    for (const other of hasPreferences ? info.pods.values() : info.affinityPods) {
      if (hasPreferences) addAll(own, pod, other)
      const { affinity } = other.spec
      if (affinity === undefined) continue
      const required = TermSet.of(affinity.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution)
      addAll([...preferredTermsOf(other), { terms: required, factor: hardPodAffinityWeight }], other, pod)
    }
  }
  return places.empty ? undefined : places
}

/** Terms whose weights are multiplied by `factor`. */
interface PreferredTerms {
  readonly terms: TermSet
  readonly factor: number
}

const preferredTermsOf = ({ spec: { affinity } }: Pod): readonly PreferredTerms[] => [
  { terms: TermSet.of(affinity?.podAffinity?.preferredDuringSchedulingIgnoredDuringExecution), factor: 1 },
  { terms: TermSet.of(affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution), factor: -1 },
]
