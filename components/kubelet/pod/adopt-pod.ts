import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeletContext } from "../context.ts"
import type { VolumeManager } from "../volumes/volume-manager.ts"
import type { RuntimePod } from "../model/runtime-pod.ts"

export interface Adoption {
  readonly pod: Pod
  readonly runtime: RuntimePod
  readonly signal: AbortSignal
}

/**
 * Adopts a pod that an earlier kubelet started: waits for its network policies, and mounts its volumes again. What
 * fails is logged, because the pod runs already. @throws the reason of the signal when it aborts
 */
export async function adoptPod(
  { config, networkReady, log }: KubeletContext,
  volumes: Pick<VolumeManager, "mount">,
  { pod, runtime, signal }: Adoption,
): Promise<void> {
  const name = `${pod.metadata.namespace}/${pod.metadata.name}`
  const ips = runtime.sandboxes.find(({ ready }) => ready)?.ips ?? []
  await networkReady(pod, ips).catch((err: unknown) => {
    log.warn("A running pod's network is not ready", { pod: name, err })
  })
  signal.throwIfAborted()
  if (config.adoptsVolumesLate === true && !hasAttachedVolumes(pod)) return
  try {
    await volumes.mount(pod, signal)
  } catch (err) {
    signal.throwIfAborted()
    log.warn("Failed to adopt the volumes of a running pod", { pod: name, err })
  }
}

/** Whether others must know of some of its volumes: they are attached to the node. */
const hasAttachedVolumes = ({ spec: { volumes = [] } }: Pod): boolean =>
  volumes.some(({ persistentVolumeClaim, ephemeral, csi }) => (persistentVolumeClaim ?? ephemeral ?? csi) !== undefined)
