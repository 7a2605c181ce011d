import { formatQuantity, type Quantity } from "../../apimachinery/scalars/quantity.ts"
import { ageOf } from "../../apimachinery/scalars/time.ts"
import type { Node } from "../../api/core/v1/node/node.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { add, podAmounts, type Amounts } from "./pod-amounts.ts"
import type { PrefixWriter } from "./prefix-writer.ts"
import { quantityOf, ZERO, type Quantities } from "./resources.ts"
import { ceilDivide } from "./rounding.ts"

/** Writes the pods of a node with what they request, and the sums of all. Source: describeNodeResource. */
export function describeNodeUsage(w: PrefixWriter, { status }: Node, pods: readonly Pod[], now: number): void {
  const { capacity = {}, allocatable: given = {} } = status
  const allocatable = Object.keys(given).length > 0 ? given : capacity
  w.row(0, "Non-terminated Pods:", `(${pods.length} in total)`)
  w.row(1, "Namespace", "Name", "", "CPU Requests", "CPU Limits", "Memory Requests", "Memory Limits", "Age")
  w.row(1, "---------", "----", "", "------------", "----------", "---------------", "-------------", "---")
  for (const pod of pods) describePodUsage(w, pod, allocatable, now)
  const [requests, limits]: [Amounts, Amounts] = [new Map(), new Map()]
  for (const pod of pods) {
    add(requests, podAmounts(pod, "requests", { fromStatus: false }))
    add(limits, podAmounts(pod, "limits", { fromStatus: false }))
  }
  w.write(0, "Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)\n")
  w.row(1, "Resource", "Requests", "Limits")
  w.row(1, "--------", "--------", "------")
  const names = Object.keys(allocatable).sort()
  for (const name of ["cpu", "memory", "ephemeral-storage", ...names.filter(isHugePages)])
    w.row(
      1,
      name,
      // A sum of a resource that the node does not have is no share of it.
      share(name, requests, allocatable, 0),
      share(name, limits, allocatable, 0),
    )
  for (const name of names.filter(isExtended))
    w.row(1, name, formatQuantity(requests.get(name) ?? ZERO), formatQuantity(limits.get(name) ?? ZERO))
}

function describePodUsage(w: PrefixWriter, pod: Pod, allocatable: Quantities, now: number): void {
  const requests = podAmounts(pod, "requests", { fromStatus: true })
  const limits = podAmounts(pod, "limits", { fromStatus: true })
  const { namespace = "", name = "", creationTimestamp } = pod.metadata
  w.row(
    1,
    namespace,
    name,
    "",
    share("cpu", requests, allocatable),
    share("cpu", limits, allocatable),
    share("memory", requests, allocatable),
    share("memory", limits, allocatable),
    ageOf(creationTimestamp, now),
  )
}

/** What Go makes of a number that is not finite when it becomes an integer of 64 bits, on most machines. */
const NOT_FINITE = -9223372036854775808n

/** Returns an amount, and the percents of what the node has; `none` are the percents of a resource it does not have. */
function share(name: string, amounts: Amounts, allocatable: Quantities, none?: number): string {
  const amount = amounts.get(name) ?? ZERO
  const [part, whole] = [countOf(name, amount), countOf(name, quantityOf(allocatable[name]))]
  const percent = (part / whole) * 100
  const shown = whole === 0 && none !== undefined ? none : Number.isFinite(percent) ? Math.trunc(percent) : NOT_FINITE
  return `${formatQuantity(amount)} (${shown}%)`
}

/** CPU in thousandths, everything else in units, rounded up. */
const countOf = (name: string, { nano }: Quantity): number =>
  Number(ceilDivide(nano, name === "cpu" ? 1_000_000n : 1_000_000_000n))

const isHugePages = (name: string): boolean => name.startsWith("hugepages-")
const NOT_EXTENDED: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage", "pods"])
const isExtended = (name: string): boolean => !isHugePages(name) && !NOT_EXTENDED.has(name)
