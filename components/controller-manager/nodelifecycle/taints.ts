import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { NodeCondition } from "../../../pkg/api/core/v1/node/nodestatus.ts"
import type { Taint } from "../../../pkg/api/core/v1/node/nodespec.ts"
import { TAINT } from "../../../pkg/api/core/v1/node/taints.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"

/** The taints that this controller manages; it leaves other taints alone. */
const MANAGED = new Set<string>([
  TAINT.notReady,
  TAINT.unreachable,
  TAINT.unschedulable,
  TAINT.memoryPressure,
  TAINT.diskPressure,
  TAINT.pidPressure,
  TAINT.networkUnavailable,
])

const BY_CONDITION: readonly [type: string, status: string, key: string][] = [
  ["Ready", "False", TAINT.notReady],
  ["Ready", "Unknown", TAINT.unreachable],
  ["MemoryPressure", "True", TAINT.memoryPressure],
  ["DiskPressure", "True", TAINT.diskPressure],
  ["PIDPressure", "True", TAINT.pidPressure],
  ["NetworkUnavailable", "True", TAINT.networkUnavailable],
]

/** Whether a node is ready, and has no problem for which there is a taint: as nearly all nodes nearly always. */
const isWell = (conditions: readonly NodeCondition[]): boolean =>
  conditions.every(({ type, status }) => status === (type === "Ready" ? "True" : "False"))

/**
 * The taints a node should have by its conditions and spec.unschedulable; undefined when it has just those. `evicts`
 * tells whether its pods are to be evicted if it is not ready. A taint that stays keeps its time, from which
 * tolerationSeconds count. Source: nodeConditionToTaintKeyStatusMap, doNoScheduleTaintingPass,
 * processTaintBaseEviction.
 */
export function wantedTaints(node: Node, now: string, evicts: () => boolean): readonly Taint[] | undefined {
  const present = node.spec.taints ?? []
  const conditions = node.status.conditions ?? []
  if (present.length === 0 && node.spec.unschedulable !== true && isWell(conditions)) return undefined
  const wanted: { key: string; effect: Taint["effect"] }[] = []
  for (const [type, status, key] of BY_CONDITION) {
    if (!conditions.some((condition) => condition.type === type && condition.status === status)) continue
    wanted.push({ key, effect: "NoSchedule" })
    if (type === "Ready" && evicts()) wanted.push({ key, effect: "NoExecute" })
  }
  if (node.spec.unschedulable === true) wanted.push({ key: TAINT.unschedulable, effect: "NoSchedule" })
  // A node that has not reported yet has not-ready:NoSchedule from its registration, and keeps it until it reports.
  if (!conditions.some(({ type }) => type === "Ready"))
    pushAll(
      wanted,
      present.filter(({ key }) => key === TAINT.notReady),
    )
  if (wanted.length === 0 && present.length === 0) return undefined

  const same = (
    a: { readonly key: string; readonly effect: string },
    b: { readonly key: string; readonly effect: string },
  ) => a.key === b.key && a.effect === b.effect
  const keep = present.filter((taint) => !MANAGED.has(taint.key) || wanted.some((each) => same(each, taint)))
  const add = wanted.filter((each) => !present.some((taint) => same(taint, each)))
  if (keep.length === present.length && add.length === 0) return undefined
  return [...keep, ...add.map((taint) => ({ ...taint, timeAdded: now }))]
}
