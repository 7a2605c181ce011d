import type { Node, Pod } from "../../../components/cluster/testing/testing.ts"
import { isPodTerminal } from "../../../pkg/pods/pod-state.ts"
import { isNearItsOwn, keptApart, keptOffBy, lacks, portsTaken, selects, spreadBroken } from "../fits.ts"
import { nameOf } from "../world.ts"
import type { WriteInvariant } from "./write.ts"

/**
 * A pod is bound only to a node that it fits, at a moment that the scheduler may have seen: what it placed itself it
 * knows at once; changes of nodes and pods that end it may have seen late.
 */
export const isPlacedWhereItFits: WriteInvariant = ({ type, object, previous, author }, seen) => {
  const [pod, before] = [object as Pod, previous as Pod | undefined]
  const name = pod.spec?.nodeName
  if (object.kind !== "Pod" || type !== "update" || !name || before?.spec.nodeName) return []
  if (author !== "system:kube-scheduler") return []
  const versions = seen.allRecent<Node>("Node").filter(([first]) => first?.metadata.name === name)
  if (versions.length === 0) return [`${nameOf(pod)} was bound to ${name}, which is not there`]
  const nodes = seen.all<Node>("Node")
  const others = seen
    .all<Pod>("Pod")
    .filter((other) => other.metadata.uid !== pod.metadata.uid && !isPodTerminal(other))
  const there = others.filter(({ spec }) => spec.nodeName === name)
  const everThere = seen
    .allRecent<Pod>("Pod")
    .filter((states) => states[0]!.metadata.uid !== pod.metadata.uid)
    .map((states) => states.find((state) => state.spec.nodeName && !isPodTerminal(state)) ?? states[0]!)
  const old = nodes.filter(({ metadata }) => seen.isOld("Node", metadata.uid))
  // The scheduler may know of a new node, and of the pods on it, or not.
  const breaksSpread = (node: Node, known: readonly Node[]) =>
    spreadBroken(pod, node, [...known.filter(({ metadata }) => metadata.name !== name), node], {
      least: others,
      most: everThere,
    })
  const problems = (node: Node): readonly string[] => [
    ...keptOffBy(pod, node).map((taint) => `has the taint ${taint}`),
    ...(selects(pod, node) ? [] : ["is not selected"]),
    ...lacks(pod, node, there).map((resource) => `has too little ${resource}`),
    ...portsTaken(pod, there).map((other) => `has ${nameOf(other)} on the same port`),
    ...keptApart(pod, node, nodes, others).map((other) => `is kept apart from ${nameOf(other)}`),
    ...(isNearItsOwn(pod, node, nodes, everThere) || isNearItsOwn(pod, node, nodes, others)
      ? []
      : ["is not near the pods that it wants"]),
    ...breaksSpread(node, nodes)
      .filter((key) => breaksSpread(node, old).includes(key))
      .map((key) => `breaks the spread over ${key}`),
  ]
  const found = versions.flat().map(problems)
  const fewest = found.toSorted((a, b) => a.length - b.length)[0]!
  const gated = seen.recent<Pod>("Pod", pod.metadata.uid).every(({ spec }) => (spec.schedulingGates ?? []).length > 0)
  return [
    ...(fewest.length === 0 ? [] : [`${nameOf(pod)} was bound to ${name}, which ${fewest.join(", ")}`]),
    ...(gated ? [`${nameOf(pod)} was bound to ${name} though it has scheduling gates`] : []),
  ]
}
