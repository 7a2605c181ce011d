import type { KubeletContext } from "../../context.ts"
import { removePodCgroups } from "../resources/pod-cgroups.ts"
import { unlinkLog, unlinkLogsOfPod } from "../../logs/container-links.ts"
import { podFolder, podLogFolder } from "../../model/pod-paths.ts"
import type { RuntimeCache } from "../../pleg/runtime-cache.ts"
import type { RuntimeContainer, RuntimePod, RuntimeSandbox } from "../../model/runtime-pod.ts"

/**
 * The newest run of each container and the one before are kept, for `kubectl logs --previous`. Source:
 * maxPerPodContainerCount.
 */
const KEPT_RUNS = 2

/** Returns the remains of earlier runs of a pod that still runs. */
export function remains({ containers, sandboxes }: RuntimePod): {
  readonly containers: readonly RuntimeContainer[]
  readonly sandboxes: readonly RuntimeSandbox[]
} {
  const seen = new Map<string, number>()
  const old = containers.filter(({ name, state }) => {
    const before = seen.get(name) ?? 0
    seen.set(name, before + 1)
    return before >= KEPT_RUNS && state !== "running"
  })
  const needed = new Set(containers.filter((run) => !old.includes(run)).map(({ sandboxId }) => sandboxId))
  return { containers: old, sandboxes: sandboxes.slice(1).filter(({ id, ready }) => !ready && !needed.has(id)) }
}

export function hasRemains(pod: RuntimePod): boolean {
  const { containers, sandboxes } = remains(pod)
  return containers.length > 0 || sandboxes.length > 0
}

/** Removes remains, including their logs. Source: pkg/kubelet/kuberuntime/kuberuntime_gc.go. */
export async function clearRemains(context: KubeletContext, cache: RuntimeCache, pod: RuntimePod): Promise<void> {
  const { runtime } = context
  const { containers, sandboxes } = remains(pod)
  for (const run of containers) {
    const { id, logPath } = run
    await runtime.containers.removeContainer(id)
    cache.forget(id)
    await unlinkLog(context, run)
    if (logPath !== "") await runtime.files.remove(logPath)
  }
  for (const { id } of sandboxes) {
    await runtime.containers.removePodSandbox(id)
    cache.forget(id)
  }
}

/** Removes everything on the node of a pod that has ended, except its volumes. */
export async function clearAll(
  context: KubeletContext,
  cache: RuntimeCache,
  { identity, sandboxes, containers }: RuntimePod,
): Promise<void> {
  const { runtime, config } = context
  for (const { id } of sandboxes) {
    await runtime.containers.removePodSandbox(id)
    cache.forget(id)
  }
  for (const { id } of containers) {
    // The runtime removes the containers of a sandbox with it.
    if (cache.container(id) === undefined) continue
    await runtime.containers.removeContainer(id)
    cache.forget(id)
  }
  // The cgroups are removed once more: a process that had not quite ended before may have kept one.
  await removePodCgroups(runtime, identity.uid)
  await Promise.all([
    runtime.files.remove(podFolder(config, identity.uid)),
    runtime.files.remove(podLogFolder(config, identity)),
    unlinkLogsOfPod(context, identity),
  ])
}
