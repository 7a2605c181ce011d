import type { Container } from "../../../../pkg/api/core/v1/container/container.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { PodCondition } from "../../../../pkg/api/core/v1/pod/podstatus.ts"
import type { ResourceRequirements } from "../../../../pkg/api/core/v1/resources/resources.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import { milliOf, unitsOf } from "../../../../pkg/apimachinery/scalars/quantity.ts"
import { containerResources } from "../../container/container-config.ts"
import type { KubeletContext } from "../../context.ts"
import { killContainer } from "../ending/kill.ts"
import { podSums } from "./qos.ts"
import type { RuntimeCache } from "../runtime-cache.ts"
import { latest, type RuntimePod } from "../runtime-pod.ts"
import { podCgroup, podResources } from "../../sandbox/sandbox-config.ts"

/** In-place resize of pods. Source: KEP-1287, pkg/kubelet/allocation. */

/** The resources allocated to each container: the spec at that time. */
export type Allocation = Pod["spec"]

const resizable = ({ initContainers, containers }: Pod["spec"]): readonly Container[] =>
  initContainers === undefined ? containers : [...initContainers, ...containers]

const setAside = (allocation: Allocation, name: string): ResourceRequirements | undefined =>
  resizable(allocation).find((container) => container.name === name)?.resources

/** Returns the pod with its allocated resources instead of the requested ones; the same object when they are equal. */
export function allocated(pod: Pod, allocation: Allocation): Pod {
  if (!wantsResize(pod, allocation)) return pod
  const of = (container: Container): Container => ({
    ...container,
    resources: setAside(allocation, container.name) ?? container.resources,
  })
  const { initContainers } = pod.spec
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: pod.spec.containers.map(of),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(of) }),
    },
  }
}

export function wantsResize({ spec }: Pod, allocation: Allocation): boolean {
  if (spec === allocation) return false
  return resizable(spec).some(({ name, resources }) => {
    const before = setAside(allocation, name)
    return before !== undefined && !deepEqual(before, resources)
  })
}

export type ContainerResize = "none" | "update" | "restart"

/** Returns what a change of resources means for a running container. */
export function resizeOf({ resources, resizePolicy = [] }: Container, before: ResourceRequirements): ContainerResize {
  const changed = (["cpu", "memory"] as const).filter(
    (name) =>
      resources.requests?.[name] !== before.requests?.[name] || resources.limits?.[name] !== before.limits?.[name],
  )
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
  /** The pod with its requested resources. */
  readonly pod: Pod
  readonly before: Allocation
  readonly runtime: RuntimePod
  readonly signal: AbortSignal
}

/** Applies the requested resources to the pod's cgroup and running containers. */
export async function carryOut(
  context: KubeletContext,
  cache: RuntimeCache,
  { pod, before, runtime, signal }: ResizeRequest,
): Promise<void> {
  const { containers, cgroups, machine } = context.runtime
  // The pod's cgroup is changed before its containers, so that they may grow; and again after them, because a limit
  // cannot be set below what the containers still use.
  await cgroups.ensure(podCgroup(pod), podResources(pod))
  for (const container of resizable(pod.spec)) {
    const run = latest(runtime, container.name)
    const old = setAside(before, container.name)
    if (run?.state !== "running" || old === undefined) continue
    const resize = resizeOf(container, old)
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
  await cgroups.ensure(podCgroup(pod), podResources(pod))
}

/** Returns the condition PodResizePending when the node lacks the requested resources; undefined when it has them. */
export function resizeProblem(
  pod: Pod,
  others: readonly Pod[],
  allocatable: Readonly<Record<string, string>>,
): Pick<PodCondition, "type" | "status" | "reason" | "message"> | undefined {
  const own = podSums(pod)
  const sums = others.map(podSums)
  const rows = [
    [
      "cpu",
      own.cpuRequest,
      sums.reduce((total, { cpuRequest }) => total + cpuRequest, 0),
      milliOf(allocatable["cpu"] ?? "0"),
    ],
    [
      "memory",
      own.memoryRequest,
      sums.reduce((total, { memoryRequest }) => total + memoryRequest, 0),
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
