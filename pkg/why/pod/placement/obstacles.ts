import type { Node } from "../../../api/core/v1/node/node.ts"
import type { Taint } from "../../../api/core/v1/node/nodespec.ts"
import { TAINT, untolerated } from "../../../api/core/v1/node/taints.ts"
import type { Pod } from "../../../api/core/v1/pod/pod.ts"
import {
  allocatableAmounts,
  requestsOf,
  takenBy,
  add,
  noAmounts,
} from "../../../api/core/v1/pod/resources/pod-requests.ts"
import { runsOn } from "../../../api/core/v1/pod/scheduling/node-selection.ts"
import type { TopologySpreadConstraint } from "../../../api/core/v1/pod/scheduling/tolerations.ts"
import { formatQuantity, fromUnits } from "../../../apimachinery/scalars/quantity.ts"
import { hostPortsOf, portsClash } from "../../../pods/host-ports.ts"
import { mend, type Mend } from "../../answer.ts"
import { podTermObstacles } from "./pod-terms.ts"
import { partWords } from "./request-parts.ts"
import { selectorWords } from "./selector-words.ts"
import { spreadsOf, type Uneven } from "./spread.ts"
import { volumeObstacles } from "./bound-volumes.ts"
import { openClaimObstacles } from "./open-claims.ts"
import type { Place } from "./place.ts"
import { command } from "../../command.ts"
import { controllerOf, isSame } from "../../doctor.ts"

/** What keeps a pod from one node. */
export interface Obstacle {
  readonly node: string
  readonly code: string
  /** With numbers, as a part of a sentence: `needs 2 CPUs, 1.4 are free`. */
  readonly says: string
  /** What removes it from the node's side; undefined where only the pod can change. */
  readonly mend?: Mend
  /** A spread constraint that counts only tainted nodes as those with the fewest pods, and what removes the taints. */
  readonly counts?: {
    readonly constraint: TopologySpreadConstraint
    readonly uncordons: readonly Mend[]
    readonly others: readonly Mend[]
  }
  /** The code is of the node's own state, which its doctor explains. */
  readonly ofNode?: true
}

/**
 * Returns what tells what keeps a pod from a node, as the scheduler's filters in their order. What is worked out for
 * one node is kept for the next.
 */
export function obstaclesFor(pod: Pod, place: Place): (node: Node) => readonly Obstacle[] {
  const spreads = spreadsOf(pod, place)
  const known = new Map<Node, readonly Obstacle[]>()
  const own = (node: Node): readonly Obstacle[] => {
    const obstacles = known.get(node) ?? ownObstacles(pod, node, place)
    known.set(node, obstacles)
    return obstacles
  }
  return (node) => [...own(node), ...spreads(node).map((uneven) => unevenObstacle(node, uneven, own))]
}

/** How many of the nodes that would make a spread even are told of. */
const MOST_FEWEST = 3

/** A spread that is uneven, with what keeps the pod from where it would become even. */
function unevenObstacle(
  { metadata }: Node,
  { says, constraint, fewest }: Uneven,
  obstaclesOf: (node: Node) => readonly Obstacle[],
): Obstacle {
  const kept = fewest
    .slice(0, MOST_FEWEST)
    .map((one) => ({ name: one.metadata.name ?? "", obstacles: obstaclesOf(one) }))
    .filter(({ obstacles }) => obstacles.length > 0)
  const whys = kept.map(
    ({ name, obstacles }) => `; node ${name} there ${obstacles.map((one) => one.says).join(" and ")}`,
  )
  const areTainted = kept.length === fewest.length && kept.every(({ obstacles }) => obstacles.every(isOfTaint))
  return {
    node: metadata.name ?? "",
    code: "topology-spread",
    says: says + whys.join(""),
    ...(fewest.length > 0 && areTainted
      ? {
          counts: {
            constraint,
            uncordons: mendsOf(
              kept.flatMap(({ obstacles }) => obstacles.filter(({ code }) => code === "node-cordoned")),
            ),
            others: mendsOf(kept.flatMap(({ obstacles }) => obstacles.filter(({ code }) => code !== "node-cordoned"))),
          },
        }
      : {}),
  }
}

const mendsOf = (obstacles: readonly Obstacle[]): readonly Mend[] => obstacles.flatMap(({ mend: one }) => one ?? [])

/** Whether it is a taint, which a spread may leave out (nodeTaintsPolicy). */
const isOfTaint = ({ code }: Obstacle): boolean =>
  ["taint-not-tolerated", "node-cordoned", "node-not-ready", "node-pressure"].includes(code)

function ownObstacles(pod: Pod, node: Node, place: Place): readonly Obstacle[] {
  const name = node.metadata.name ?? ""
  const there = place.pods.filter(({ spec }) => spec.nodeName === name)
  const at = (code: string, says: string, more: Pick<Obstacle, "mend" | "ofNode"> = {}): Obstacle => ({
    node: name,
    code,
    says,
    ...more,
  })
  return [
    ...taintObstacles(pod, node).map(({ code, says, ...more }) => at(code, says, more)),
    ...(runsOn(pod.spec, node) ? [] : [at(...selectorWords(pod, node))]),
    ...roomObstacles(pod, node, there).map(([code, says]) => at(code, says)),
    ...portObstacles(pod, there).map((says) => at("host-port-taken", says)),
    ...volumeObstacles(place.volumes, node).map((says) => at("volume-elsewhere", says)),
    ...openClaimObstacles(place.openClaims, node).map((says) => at("volume-elsewhere", says)),
    ...place.volumeLimits(name).map((says) => at("volume-limit", says)),
    ...podTermObstacles(pod, node, place).map(([code, says]) => at(code, says)),
  ]
}

const PRESSURE: Readonly<Record<string, string>> = {
  [TAINT.memoryPressure]: "memory",
  [TAINT.diskPressure]: "disk space",
  [TAINT.pidPressure]: "process ids",
}

/** Kubelets with an external cloud provider begin with it. Source: k8s.io/cloud-provider/api/well_known_taints.go. */
const UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
/** Taints that the cluster's own controllers and its autoscalers set and remove. */
const OF_CONTROLLER = /^node\.(?:cloudprovider\.)?kubernetes\.io\/|autoscaler|^karpenter\.sh\//i

function taintObstacles(pod: Pod, node: Node): readonly Omit<Obstacle, "node">[] {
  const name = node.metadata.name ?? ""
  const { tolerations } = pod.spec
  const found: Omit<Obstacle, "node">[] = []
  const isTolerated = (key: string) =>
    untolerated([{ key, effect: "NoSchedule" } as never], tolerations, ["NoSchedule"]) === undefined
  if (node.spec.unschedulable === true && !isTolerated(TAINT.unschedulable))
    found.push({
      code: "node-cordoned",
      says: "is cordoned",
      mend: mend(command`kubectl uncordon ${name}`, `lets the scheduler use node ${name} again`),
      ofNode: true,
    })
  for (const taint of node.spec.taints ?? []) {
    if (untolerated([taint], tolerations, ["NoSchedule", "NoExecute"]) === undefined) continue
    const { key = "", value = "", effect } = taint
    if (key === TAINT.unschedulable) continue
    if (key === TAINT.notReady || key === TAINT.unreachable) {
      if (!found.some(({ code }) => code === "node-not-ready"))
        found.push({ code: "node-not-ready", says: "is not ready", ofNode: true })
    } else if (PRESSURE[key] !== undefined)
      found.push({ code: "node-pressure", says: `runs out of ${PRESSURE[key]}`, ofNode: true })
    else if (key === TAINT.networkUnavailable)
      found.push({ code: "node-network-unavailable", says: "has no network", ofNode: true })
    else if (key === UNINITIALIZED)
      found.push({ code: "node-uninitialized", says: "waits for its cloud controller manager to initialize it" })
    else
      found.push({
        code: "taint-not-tolerated",
        says: `has the taint ${key}${value === "" ? "" : `=${value}`}:${effect}, which the pod does not tolerate${nearToleration(taint, tolerations)}`,
        // What a controller has set it sets again.
        ...(OF_CONTROLLER.test(key)
          ? {}
          : {
              mend: mend(
                command`kubectl taint nodes ${name} ${`${key}:${effect}-`}`,
                `removes the taint, for all pods`,
              ),
            }),
      })
  }
  return found
}

/** How a toleration of the same key differs from a taint. */
function nearToleration({ key, value = "" }: Taint, tolerations: Pod["spec"]["tolerations"] = []): string {
  const near = tolerations.find((one) => one.key === key)
  if (near === undefined) return ""
  if (near.operator !== "Exists" && (near.value ?? "") !== value)
    return ` (its toleration of ${key} is for ${near.value ? `the value ${near.value}` : "no value"})`
  return near.effect === undefined ? "" : ` (its toleration of ${key} is for ${near.effect})`
}

function roomObstacles(pod: Pod, node: Node, there: readonly Pod[]): readonly (readonly [string, string])[] {
  const wanted = requestsOf(pod).exact
  const all = allocatableAmounts(node.status?.allocatable)
  const taken = noAmounts()
  for (const other of there) add(taken, takenBy(other).exact)
  const found: (readonly [string, string])[] = []
  const check = (resource: string, needs: number, has: number, uses: number, words: (amount: number) => string) => {
    if (needs === 0 || needs <= has - uses) return
    const free = Math.max(0, has - uses)
    const name = resource === "cpu" ? "CPUs" : resource
    found.push([
      `insufficient-${resource}`,
      needs > has
        ? `needs ${words(needs)} ${name}${partWords(pod, resource)}, the whole node has ${words(has)}`
        : `needs ${words(needs)} ${name}${partWords(pod, resource)}, ${words(free)} of ${words(has)} free${freedBy(pod, resource, needs - free, there)}`,
    ])
  }
  check("cpu", wanted.cpu, all.cpu, taken.cpu, cores)
  check("memory", wanted.memory, all.memory, taken.memory, bytes)
  check("ephemeral-storage", wanted.ephemeral, all.ephemeral, taken.ephemeral, bytes)
  for (const [name, amount] of wanted.scalar)
    check(
      name,
      amount,
      all.scalar.get(name) ?? 0,
      taken.scalar.get(name) ?? 0,
      name.startsWith("hugepages-") ? bytes : String,
    )
  const most = Number(node.status?.allocatable?.["pods"] ?? Infinity)
  if (there.length + 1 > most) found.push(["too-many-pods", `has room for ${most} pods and runs ${there.length}`])
  return found
}

/** The smallest pod whose end makes enough room. That of the same controller would be made again. */
function freedBy(pod: Pod, resource: string, missing: number, there: readonly Pod[]): string {
  const owner = controllerOf(pod)
  const isOfSame = (other: Pod) => {
    const its = controllerOf(other)
    return owner !== undefined && its !== undefined && isSame(owner, its)
  }
  // One of a higher priority was put there before this one on purpose.
  const isAbove = (other: Pod) => (other.spec.priority ?? 0) > (pod.spec.priority ?? 0)
  const amountOf = (other: Pod) => {
    const { cpu, memory, ephemeral, scalar } = takenBy(other).exact
    return { cpu, memory, "ephemeral-storage": ephemeral }[resource] ?? scalar.get(resource) ?? 0
  }
  const [best] = there
    .filter(
      (one) => amountOf(one) >= missing && one.metadata.namespace !== "kube-system" && !isOfSame(one) && !isAbove(one),
    )
    .toSorted((a, b) => amountOf(a) - amountOf(b))
  return best === undefined ? "" : `; ending pod ${best.metadata.namespace}/${best.metadata.name} frees enough`
}

function portObstacles(pod: Pod, there: readonly Pod[]): readonly string[] {
  return hostPortsOf(pod).flatMap((port) => {
    const holder = there.find((other) => hostPortsOf(other).some((taken) => portsClash(port, taken)))
    return holder === undefined
      ? []
      : [`has its port ${port.port}/${port.protocol} taken by pod ${holder.metadata.namespace}/${holder.metadata.name}`]
  })
}

/** `0.5`, `8.4`: cores without the suffix for their thousandths. */
export const cores = (milli: number): string => String(Math.ceil(milli) / 1000)

export function bytes(count: number): string {
  const units = ["Ti", "Gi", "Mi", "Ki"] as const
  const sizes = [2 ** 40, 2 ** 30, 2 ** 20, 2 ** 10]
  const at = sizes.findIndex((size) => count >= size)
  if (at === -1) return formatQuantity(fromUnits(count))
  const value = count / sizes[at]!
  return `${Number.isInteger(value) ? value : value.toFixed(1)}${units[at]!}`
}
