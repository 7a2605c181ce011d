import { runsOn } from "../../../pkg/api/core/v1/pod/scheduling/node-selection.ts"
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { untolerated } from "../../../pkg/api/core/v1/node/taints.ts"
import type { TopologySpreadConstraint } from "../../../pkg/api/core/v1/pod/scheduling/tolerations.ts"
import { fromLabelSelector } from "../../../pkg/apimachinery/selectors/labels.ts"
import type { PodTopologySpreadArgs } from "../config/plugin-args.ts"
import { bounds, MAX_SCORE, SKIP, SUCCESS, unresolvable, unschedulable, type Plugin } from "../framework.ts"
import { controllerUid, type NodeInfo } from "../node-info.ts"
import { PerNode, RecentGroups } from "../per-node.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"

const NAME = "PodTopologySpread"
const SPREAD = "node(s) didn't match pod topology spread constraints"
const HOSTNAME = "kubernetes.io/hostname"
const ZONE = "topology.kubernetes.io/zone"
/** The maxSkew of the default spread over nodes and zones. Source: systemDefaultConstraints. */
const [HOST_SKEW, ZONE_SKEW] = [3, 5]
/** Where the state keeps the scores of all nodes. */
const SCORES = `${NAME}/scores`

/** A constraint, with the number of matching pods for each topology value. */
interface Counted {
  readonly topologyKey: string
  readonly maxSkew: number
  readonly minDomains: number
  readonly matchesItself: boolean
  readonly places: ReadonlyMap<string, number>
  /** Whether pods on the node count. */
  counts(node: Node): boolean
  /** Whether the pod counts, wherever it is. */
  selects(other: Pod): boolean
}

/** Spreads the pods of a group over zones, nodes or other topologies. Source: plugins/podtopologyspread. */
export const podTopologySpread = (
  { defaultConstraints = [], defaultingType }: PodTopologySpreadArgs,
  siblings = new Siblings(),
): Plugin => ({
  name: NAME,
  eventsToRegister: [
    "Node/Add",
    "Node/UpdateLabel",
    "Node/UpdateTaint",
    "AssignedPod/Add",
    "AssignedPod/UpdateLabel",
    "AssignedPod/Delete",
    "Pod/Update",
  ],
  looksAtAllNodes: true,
  preFilter(state, pod, nodes) {
    const constraints = constraintsOf(pod, defaultConstraints, "DoNotSchedule")
    if (constraints.length === 0) return SKIP
    state.set(
      NAME,
      constraints.map((constraint) => count(pod, constraint, constraints, nodes.list)),
    )
    return SUCCESS
  },
  addPod(state, _pod, added, { node }) {
    const before = state.get(NAME) as readonly Counted[]
    state.set(
      NAME,
      before.map((counted) => {
        if (!counted.counts(node) || !counted.selects(added)) return counted
        const value = node.metadata.labels![counted.topologyKey]!
        return { ...counted, places: new Map(counted.places).set(value, (counted.places.get(value) ?? 0) + 1) }
      }),
    )
  },
  filter(state, _pod, { node }) {
    for (const { topologyKey, maxSkew, minDomains, matchesItself, places } of state.get(NAME) as readonly Counted[]) {
      const value = node.metadata.labels?.[topologyKey]
      if (value === undefined) return unresolvable(`${SPREAD} (missing required label)`)
      const least = places.size < minDomains ? 0 : smallest(places.values())
      if ((places.get(value) ?? 0) + (matchesItself ? 1 : 0) - least > maxSkew) return unschedulable(SPREAD)
    }
    return SUCCESS
  },
  preScore(state, pod, nodes, all) {
    const soft = constraintsOf(pod, defaultConstraints, "ScheduleAnyway")
    if (soft.length === 0) {
      const owner = controllerUid(pod)
      if (owner === undefined || defaultingType === "List") return SKIP
      state.set(SCORES, siblingScores(owner, nodes, siblings))
    } else {
      const spreads = soft.map((constraint) => spreadOf(count(pod, constraint, soft, all.list)))
      state.set(
        SCORES,
        nodes.map((node) => spreads.reduce((sum, spread) => sum + scoreOf(spread, node), 0)),
      )
    }
    return SUCCESS
  },
  scoreAll: (state) => state.get(SCORES) as number[],
  normalize(scores) {
    const [least, most] = bounds(scores)
    for (let i = 0; i < scores.length; i++)
      scores[i] = most === 0 ? MAX_SCORE : Math.floor((MAX_SCORE * (most + least - scores[i]!)) / most)
  },
})

/**
 * The constraints of a pod; those of the profile for a pod without any that has a controller, whose pods then count.
 * Source: common.go buildDefaultConstraints.
 */
function constraintsOf(
  pod: Pod,
  defaults: readonly TopologySpreadConstraint[],
  action: TopologySpreadConstraint["whenUnsatisfiable"],
): readonly TopologySpreadConstraint[] {
  const { topologySpreadConstraints: own = [] } = pod.spec
  const all = own.length > 0 || controllerUid(pod) === undefined ? own : defaults
  return all.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action)
}

/** How a score counts one topology. */
interface Spread {
  readonly topologyKey: string
  /** The number of matching pods for each topology value. */
  readonly places: ReadonlyMap<string, number>
  /** The weight of the topology, which rises with the number of its values. */
  readonly weight: number
  /** A larger maxSkew makes small differences matter less. */
  readonly tolerance: number
}

const weightOf = (places: number): number => Math.log(places + 2)

const spreadOf = ({ topologyKey, maxSkew, places }: Pick<Counted, "topologyKey" | "maxSkew" | "places">): Spread => ({
  topologyKey,
  places,
  weight: weightOf(places.size),
  tolerance: maxSkew - 1,
})

/** Source: scoring.go scoreForCount. A node without the label counts nothing. */
function scoreOf({ topologyKey, places, weight, tolerance }: Spread, { node }: NodeInfo): number {
  const value = node.metadata.labels?.[topologyKey]
  return value === undefined ? 0 : (places.get(value) ?? 0) * weight + tolerance
}

/**
 * Counts the pods that the constraint selects in the pod's namespace, on nodes that the pod could use and that have all
 * topology labels.
 */
function count(
  pod: Pod,
  constraint: TopologySpreadConstraint,
  all: readonly TopologySpreadConstraint[],
  nodes: Iterable<NodeInfo>,
): Counted {
  const {
    topologyKey,
    maxSkew,
    minDomains = 1,
    labelSelector,
    matchLabelKeys = [],
    nodeAffinityPolicy = "Honor",
    nodeTaintsPolicy = "Ignore",
  } = constraint
  const owner = (pod.spec.topologySpreadConstraints ?? []).length === 0 ? controllerUid(pod) : undefined
  const selector = labelSelector === undefined ? undefined : fromLabelSelector(labelSelector)
  const alike = (other: Pod) =>
    matchLabelKeys.every((key) => other.metadata.labels?.[key] === pod.metadata.labels?.[key])
  const selects = (other: Pod) =>
    other.metadata.namespace === pod.metadata.namespace &&
    (owner === undefined
      ? selector?.matches(other.metadata.labels) === true && alike(other)
      : controllerUid(other) === owner)
  const counts = (node: Node) =>
    all.every((each) => node.metadata.labels?.[each.topologyKey] !== undefined) &&
    (nodeAffinityPolicy !== "Honor" || runsOn(pod.spec, node)) &&
    (nodeTaintsPolicy !== "Honor" ||
      untolerated(node.spec.taints, pod.spec.tolerations, ["NoSchedule", "NoExecute"]) === undefined)
  const places = new Map<string, number>()
  for (const { node, pods } of nodes) {
    if (!counts(node)) continue
    const value = node.metadata.labels![topologyKey]!
    let matching = 0
    for (const other of pods.values()) if (other.metadata.deletionTimestamp === undefined && selects(other)) matching++
    places.set(value, (places.get(value) ?? 0) + matching)
  }
  return { topologyKey, maxSkew, minDomains, matchesItself: selects(pod), places, counts, selects }
}

/**
 * The default spread of a pod without constraints: it is spread over nodes and zones among the pods of the same
 * controller. As upstream, a hostname stands for one node. Differs from upstream, which finds these pods by the
 * selectors of Services and controllers: here the owner reference names the controller. Also, pods are counted only on
 * nodes that fit, because the score chooses among these.
 */
function siblingScores(owner: string, nodes: readonly NodeInfo[], siblings: Siblings): number[] {
  const places = siblings.of(owner, nodes)
  const inZone = new Map<string, number>()
  let hosts = 0
  for (const { hasHostname, zone, count } of places) {
    if (hasHostname) hosts++
    if (zone !== undefined) inZone.set(zone, (inZone.get(zone) ?? 0) + count)
  }
  const weight = weightOf(hosts)
  const scores = places.map(({ hasHostname, count }) => (hasHostname ? count * weight + HOST_SKEW - 1 : 0))
  if (inZone.size === 0) return scores
  const zones = spreadOf({ topologyKey: ZONE, maxSkew: ZONE_SKEW, places: inZone })
  return scores.map((score, i) => score + scoreOf(zones, nodes[i]!))
}

/** What the default spread reads of a node. */
interface SiblingPlace {
  readonly hasHostname: boolean
  readonly zone: string | undefined
  /** Pods of the same controller on the node. */
  readonly count: number
}

/**
 * The number of a controller's pods on each node, cached until the node changes. Without the cache, this took 5 % of
 * the time of a cluster of 1,000 nodes.
 */
class Siblings {
  readonly #byOwner = new RecentGroups<PerNode<SiblingPlace>>()

  /** The places of a controller's pods, in the order of the nodes. */
  of(owner: string, nodes: readonly NodeInfo[]): readonly SiblingPlace[] {
    const kept = this.#byOwner.of(owner, () => new PerNode())
    const places = new Array<SiblingPlace>(nodes.length)
    for (let i = 0; i < nodes.length; i++) {
      const info = nodes[i]!
      let place = kept.get(info)
      if (place === undefined) kept.set(info, (place = placeOf(owner, info)))
      places[i] = place
    }
    return places
  }
}

const placeOf = (owner: string, { node: { metadata }, siblings }: NodeInfo): SiblingPlace => ({
  hasHostname: metadata.labels?.[HOSTNAME] !== undefined,
  zone: metadata.labels?.[ZONE],
  count: siblings.get(owner) ?? 0,
})
