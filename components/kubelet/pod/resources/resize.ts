import type { Container } from "../../../../pkg/api/core/v1/container/container.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { PodCondition } from "../../../../pkg/api/core/v1/pod/podstatus.ts"
import { takenBy } from "../../../../pkg/api/core/v1/pod/resources/pod-requests.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import { milliOf, unitsOf } from "../../../../pkg/apimachinery/scalars/quantity.ts"
import type { LinuxContainerResources } from "../../../../pkg/cri/resources.ts"
import { containerResources } from "../../container/container-config.ts"
import type { KubeletContext } from "../../context.ts"
import { killContainer } from "../ending/kill.ts"
import { setAside, type Allocation } from "../../model/allocation.ts"
import { effectiveResources, type EffectiveResources } from "../../model/effective-resources.ts"
import { podSums } from "../../model/qos.ts"
import type { RuntimeCache } from "../../pleg/runtime-cache.ts"
import { latest, type RuntimeContainer, type RuntimePod } from "../../model/runtime-pod.ts"
import { podCgroup, podResources } from "../../sandbox/sandbox-config.ts"

/** In-place resize of pods. Source: KEP-1287, KEP-5419 for the pod as a whole, pkg/kubelet/allocation. */

const resizable = ({ initContainers, containers }: Pod["spec"]): readonly Container[] =>
  initContainers === undefined ? containers : [...initContainers, ...containers]

/** Returns the pod with its allocated resources instead of the requested ones; the same object when they are equal. */
export function allocated(pod: Pod, allocation: Allocation): Pod {
  if (!wantsResize(pod, allocation)) return pod
  const of = (container: Container): Container => ({
    ...container,
    resources: setAside(allocation, container.name) ?? container.resources,
  })
  const { initContainers, resources: _requested, ...spec } = pod.spec
  const { resources } = allocation
  return {
    ...pod,
    spec: {
      ...spec,
      containers: spec.containers.map(of),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(of) }),
      ...(resources === undefined ? {} : { resources }),
    },
  }
}

export function wantsResize({ spec }: Pod, allocation: Allocation): boolean {
  if (spec === allocation) return false
  if (!deepEqual(spec.resources, allocation.resources)) return true
  return resizable(spec).some(({ name, resources }) => {
    const before = setAside(allocation, name)
    return before !== undefined && !deepEqual(before, resources)
  })
}

export type ContainerResize = "none" | "update" | "restart"

/** Returns what a change of resources means for a running container. */
export function resizeOf(
  { resizePolicy = [] }: Pick<Container, "resizePolicy">,
  now: EffectiveResources,
  before: EffectiveResources,
): ContainerResize {
  const changed = (["cpu", "memory"] as const).filter((name) => !deepEqual(now[name], before[name]))
  if (changed.length === 0) return "none"
  return changed.some((name) =>
    resizePolicy.some(
      ({ resourceName, restartPolicy }) => resourceName === name && restartPolicy === "RestartContainer",
    ),
  )
    ? "restart"
    : "update"
}

export interface ResizeRequest {
  /** The pod with its allocated resources. */
  readonly pod: Pod
  /** What its cgroups and containers have. */
  readonly before: Allocation
  /** Whether only some of them may have that, because a kubelet was stopped in between: then all are given anew. */
  readonly isUncertain: boolean
  readonly runtime: RuntimePod
  readonly signal: AbortSignal
}

interface ContainerChange {
  readonly container: Container
  readonly run: RuntimeContainer
  readonly resize: ContainerResize
  readonly now: EffectiveResources
  readonly before: EffectiveResources
}

/**
 * Applies the allocated resources to the pod's cgroup and running containers. The limits of the pod grow before its
 * containers, and shrink after them. Source: doPodResizeAction in kuberuntime_manager.go. @throws Error when a limit of
 * memory would be less than what is in use, or the runtime fails
 */
export async function carryOut(
  context: KubeletContext,
  cache: RuntimeCache,
  { pod, before, isUncertain, runtime, signal }: ResizeRequest,
): Promise<void> {
  const { containers, cgroups, machine } = context.runtime
  const wanted = podResources(pod)
  const had = podResources({ ...pod, spec: before })
  const changes = changesOf(pod, { before, isUncertain, runtime })
  await checkMemory(context, pod, { wanted, had, changes })
  await cgroups.ensure(podCgroup(pod), larger(wanted, had))
  for (const { container, run, resize } of changes.toSorted((a, b) => Number(shrinks(b)) - Number(shrinks(a)))) {
    if (resize === "update")
      await containers.updateContainerResources(run.id, containerResources(pod, container, machine.memoryBytes))
    if (resize === "restart") {
      await killContainer(context, cache, {
        pod,
        run,
        message: `Container ${container.name} resize requires restart`,
        podIp: runtime.sandboxes[0]?.ips[0],
        signal,
        graceSeconds: pod.spec.terminationGracePeriodSeconds,
      })
    }
  }
  await cgroups.ensure(podCgroup(pod), wanted)
}

function changesOf(
  pod: Pod,
  { before, isUncertain, runtime }: Pick<ResizeRequest, "before" | "isUncertain" | "runtime">,
): readonly ContainerChange[] {
  return resizable(pod.spec).flatMap((container): readonly ContainerChange[] => {
    const run = latest(runtime, container.name)
    if (run?.state !== "running") return []
    const now = effectiveResources(pod.spec, container)
    const resources = setAside(before, container.name)
    if (resources === undefined) return []
    const old = effectiveResources(before, { resources })
    return [{ container, run, resize: isUncertain ? "update" : resizeOf(container, now, old), now, before: old }]
  })
}

const isLess = (limit: number, before: number): boolean => limit > 0 && (before === 0 || limit < before)

const shrinks = ({ now, before }: ContainerChange): boolean =>
  isLess(now.memory.limit, before.memory.limit) || isLess(now.cpu.limit, before.cpu.limit)

/** A limit below what is in use would end processes. Source: validateMemoryResizeAction in kuberuntime_manager.go. */
async function checkMemory(
  { runtime: { usage } }: KubeletContext,
  pod: Pod,
  {
    wanted: { memoryLimitInBytes: limit = 0 },
    had: { memoryLimitInBytes: hadLimit = 0 },
    changes,
  }: {
    readonly wanted: LinuxContainerResources
    readonly had: LinuxContainerResources
    readonly changes: readonly ContainerChange[]
  },
): Promise<void> {
  const faults: string[] = []
  const check = (what: string, bytes: number, used: number | undefined) => {
    if (used !== undefined && used >= bytes)
      faults.push(`attempting to set ${what} memory limit (${bytes}) below current usage (${used})`)
  }
  const group = podCgroup(pod)
  if (isLess(limit, hadLimit)) check("pod", limit, (await usage.group(group, "cpu and memory"))?.memory?.usage)
  for (const { run, container, now, before, resize } of changes)
    if (resize === "update" && isLess(now.memory.limit, before.memory.limit))
      check(
        `container ${JSON.stringify(container.name)}`,
        now.memory.limit,
        (await usage.container(group, run.id, "cpu and memory"))?.memory?.usage,
      )
  const [first, ...others] = faults
  if (first !== undefined)
    throw new Error(`cannot decrease memory limits: ${others.length === 0 ? first : `[${faults.join(", ")}]`}`)
}

/** Returns the resources under which both can be held. A limit that one of them lacks is none. */
const larger = (a: LinuxContainerResources, b: LinuxContainerResources): LinuxContainerResources => {
  const limits = (["cpuQuota", "memoryLimitInBytes"] as const).flatMap((name) =>
    a[name] === undefined || b[name] === undefined ? [] : [[name, Math.max(a[name], b[name])] as const],
  )
  return {
    ...a,
    cpuQuota: undefined,
    memoryLimitInBytes: undefined,
    cpuShares: Math.max(a.cpuShares ?? 0, b.cpuShares ?? 0),
    ...Object.fromEntries(limits),
  }
}

/** Returns the condition PodResizePending when the node lacks the requested resources; undefined when it has them. */
export function resizeProblem(
  pod: Pod,
  others: readonly Pod[],
  allocatable: Readonly<Record<string, string>>,
): Pick<PodCondition, "type" | "status" | "reason" | "message"> | undefined {
  const own = podSums(pod)
  const taken = others.map((other) => takenBy(other).exact)
  const rows = [
    ["cpu", own.cpuRequest, taken.reduce((total, { cpu }) => total + cpu, 0), milliOf(allocatable["cpu"] ?? "0")],
    [
      "memory",
      own.memoryRequest,
      taken.reduce((total, { memory }) => total + memory, 0),
      unitsOf(allocatable["memory"] ?? "0"),
    ],
  ] as const
  for (const [name, requested, , capacity] of rows) {
    if (requested > capacity)
      return {
        type: "PodResizePending",
        status: "True",
        reason: "Infeasible",
        message: `Node didn't have enough capacity: ${name}, requested: ${requested}, capacity: ${capacity}`,
      }
  }
  for (const [name, requested, used, capacity] of rows) {
    if (requested + used > capacity)
      return {
        type: "PodResizePending",
        status: "True",
        reason: "Deferred",
        message:
          `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${used}, capacity: ` +
          `${capacity}`,
      }
  }
  return undefined
}
