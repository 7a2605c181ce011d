import type { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { PlacedWrite } from "./placed-write.ts"

/** A time in which nothing was heard of a node, in milliseconds since the epoch. */
export interface NodeLoss {
  readonly node: string
  /** Undefined where the recording begins with it. */
  readonly from: number | undefined
  /** Undefined where the recording ends with it. */
  readonly to: number | undefined
  /** Whether its pods ran on meanwhile, so that only the way to it was lost. */
  readonly isCutOff: boolean
}

/**
 * How long a node was silent before its condition became Unknown: kube-controller-manager's --node-monitor-grace-period
 * (50 s), less half of the 10 s between heartbeats, and half of the 5 s between looks at them.
 */
const SILENT_MS = 47_500
/** How soon after its return a node has started again what had ended. */
const STARTING_MS = 30_000

/** Finds when nodes were lost: their controller says Unknown until the kubelet reports again. */
export function nodeLosses(nodes: readonly Node[], writes: readonly PlacedWrite[], begin: number): readonly NodeLoss[] {
  const losses: NodeLoss[] = []
  /** Since when nodes are lost. */
  const lost = new Map<string, number | undefined>(
    nodes.filter(isUnknown).map(({ metadata: { name = "" } }) => [name, undefined]),
  )
  const end = (node: string, to: number | undefined) => {
    const from = lost.get(node)
    lost.delete(node)
    losses.push({ node, from, to, isCutOff: to !== undefined && !hasRestarted(node, to, writes) })
  }
  for (const write of writes) {
    const { key, verb, time, object } = write
    const reporting = lost.size === 0 ? undefined : reporterOf(write)
    if (reporting !== undefined && lost.has(reporting)) end(reporting, time)
    if (!key.startsWith("/registry/core/nodes/")) continue
    if (verb === "delete") {
      // A kubelet would register its node again.
      if (!writes.some((later) => later.key === key && later.time >= time && later.verb === "create"))
        losses.push({ node: object.metadata.name ?? "", from: time, to: undefined, isCutOff: false })
      continue
    }
    const node = object.metadata.name ?? ""
    if (isUnknown(object as Node) && !lost.has(node)) lost.set(node, Math.max(begin, time - SILENT_MS))
  }
  for (const node of [...lost.keys()]) end(node, undefined)
  return losses
}

/** A node that joins the cluster, at a time in milliseconds since the epoch. */
export interface NodeJoin {
  readonly node: Node
  readonly time: number
}

/** Finds when nodes have joined, and what they have: their first reports say that. */
export function nodeJoins(writes: readonly PlacedWrite[]): readonly NodeJoin[] {
  const joins = new Map<string, NodeJoin>()
  for (const { key, verb, time, object } of writes) {
    if (!key.startsWith("/registry/core/nodes/") || verb === "delete") continue
    const known = joins.get(key)
    if (verb === "create" && known === undefined) joins.set(key, { node: object as Node, time })
    else if (known !== undefined && !hasCapacity(known.node)) joins.set(key, { ...known, node: object as Node })
  }
  return [...joins.values()].filter(({ node }) => hasCapacity(node))
}

const hasCapacity = ({ status }: Node): boolean => (status as Node["status"] | undefined)?.capacity !== undefined

/** Returns the node whose kubelet has made a write; what it says first is not always of the node itself. */
function reporterOf({ author, user, key, object }: PlacedWrite): string | undefined {
  if (author !== "node") return undefined
  if (user.startsWith(NODE_USER)) return user.slice(NODE_USER.length)
  if (key.startsWith("/registry/core/nodes/")) return object.metadata.name
  return key.startsWith("/registry/core/pods/") ? (object as Partial<Pod>).spec?.nodeName : undefined
}

const NODE_USER = "system:node:"

const isUnknown = ({ status }: Node): boolean =>
  (status as Node["status"] | undefined)?.conditions?.some(
    ({ type, status: is }) => type === "Ready" && is === "Unknown",
  ) === true

/** Whether containers of a node have started after its return. */
const hasRestarted = (node: string, since: number, writes: readonly PlacedWrite[]): boolean =>
  writes.some(({ key, time, author, verb, object }) => {
    if (author !== "node" || verb !== "update" || time < since || time > since + STARTING_MS) return false
    if (!key.startsWith("/registry/core/pods/") || (object as Pod).spec.nodeName !== node) return false
    return ((object as Pod).status.containerStatuses ?? []).some(
      ({ restartCount, state }) => restartCount > 0 && Date.parse(state.running?.startedAt ?? "") >= since - 1000,
    )
  })
