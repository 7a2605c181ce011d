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
import { termsOf, TopologyCounts, type NamespaceLabels, type PodTerm } from "./pod-terms.ts"

const NAME = "InterPodAffinity"
/** Weight in the score of an existing pod that requires to be near the new one. Source: HardPodAffinityWeight. */
const HARD_WEIGHT = 1

/** Made by preFilter, once for each pod. */
interface State {
  readonly near: readonly PodTerm[]
  readonly away: readonly PodTerm[]
  /**
   * Topology values with pods that match every affinity term, with pods that match an anti-affinity term, and with pods
   * whose anti-affinity matches this pod.
   */
  readonly nearPlaces: TopologyCounts
  readonly awayPlaces: TopologyCounts
  readonly refusedPlaces: TopologyCounts
  readonly matchesItself: boolean
}

/**
 * Filters nodes by the pod's required affinity and anti-affinity to other pods and by the anti-affinity of those pods,
 * and scores nodes by the preferences of both. Source: plugins/interpodaffinity.
 */
export const interPodAffinity = (namespaceLabels: NamespaceLabels): Plugin => ({
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
    const near = termsOf(pod, podAffinity?.requiredDuringSchedulingIgnoredDuringExecution, namespaceLabels)
    const away = termsOf(pod, podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution, namespaceLabels)
    const [nearPlaces, awayPlaces, refusedPlaces] = [new TopologyCounts(), new TopologyCounts(), new TopologyCounts()]
    for (const info of near.length + away.length > 0 ? nodes.list : nodes.withAntiAffinity) {
      const labels = info.node.metadata.labels ?? {}
      for (const other of near.length + away.length > 0 ? info.pods.values() : info.antiAffinityPods) {
        if (near.length > 0 && near.every((term) => term.matches(other)))
          for (const { topologyKey } of near) nearPlaces.add(topologyKey, labels[topologyKey], 1)
        for (const term of away) if (term.matches(other)) awayPlaces.add(term.topologyKey, labels[term.topologyKey], 1)
        for (const term of termsOf(
          other,
          other.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
          namespaceLabels,
        )) {
          if (term.matches(pod)) refusedPlaces.add(term.topologyKey, labels[term.topologyKey], 1)
        }
      }
    }
    if (near.length + away.length === 0 && refusedPlaces.empty) return SKIP
    state.set(NAME, {
      near,
      away,
      nearPlaces,
      awayPlaces,
      refusedPlaces,
      matchesItself: near.every((term) => term.matches(pod)),
    } satisfies State)
    return SUCCESS
  },
  filter(state, _pod, { node }) {
    const { near, away, nearPlaces, awayPlaces, refusedPlaces, matchesItself } = state.get(NAME) as State
    const labels = node.metadata.labels ?? {}
    const isNear = near.every(({ topologyKey }) => nearPlaces.get(topologyKey, labels[topologyKey]) > 0)
    // The first pod of a group with affinity to itself may go to any node with the topology labels, because no pod
    // matches yet.
    const isFirst =
      nearPlaces.empty && matchesItself && near.every(({ topologyKey }) => labels[topologyKey] !== undefined)
    if (!isNear && !isFirst) return unresolvable("node(s) didn't match pod affinity rules")
    if (away.some(({ topologyKey }) => awayPlaces.get(topologyKey, labels[topologyKey]) > 0))
      return unschedulable("node(s) didn't match pod anti-affinity rules")
    if (Object.entries(labels).some(([key, value]) => refusedPlaces.get(key, value) > 0))
      return unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")
    return SUCCESS
  },
  preScore(state, pod, _nodes, allNodes) {
    const places = preferredPlaces(pod, allNodes, namespaceLabels)
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

/**
 * Returns weights of topology values by the preferences of the pod and of existing pods; undefined where there are
 * none.
 */
function preferredPlaces(pod: Pod, nodes: NodeList, namespaceLabels: NamespaceLabels): TopologyCounts | undefined {
  const weighted = (of: Pod) => {
    const { podAffinity, podAntiAffinity } = of.spec.affinity ?? {}
    const wishes = [
      ...(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ weight, podAffinityTerm }) => ({
        weight,
        podAffinityTerm,
      })),
      ...(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
        ({ weight, podAffinityTerm }) => ({ weight: -weight, podAffinityTerm }),
      ),
    ]
    return wishes.map(({ weight, podAffinityTerm }) => ({
      weight,
      term: termsOf(of, [podAffinityTerm], namespaceLabels)[0]!,
    }))
  }
  const own = weighted(pod)
  const places = new TopologyCounts()
  for (const info of own.length > 0 ? nodes.list : nodes.withAffinity) {
    const labels = info.node.metadata.labels ?? {}
    for (const other of own.length > 0 ? info.pods.values() : info.affinityPods) {
      for (const { weight, term } of own)
        if (term.matches(other)) places.add(term.topologyKey, labels[term.topologyKey], weight)
      if (other.spec.affinity === undefined) continue
      for (const { weight, term } of weighted(other))
        if (term.matches(pod)) places.add(term.topologyKey, labels[term.topologyKey], weight)
      for (const term of termsOf(
        other,
        other.spec.affinity.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
        namespaceLabels,
      )) {
        if (term.matches(pod)) places.add(term.topologyKey, labels[term.topologyKey], HARD_WEIGHT)
      }
    }
  }
  return places.empty ? undefined : places
}
