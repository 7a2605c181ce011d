import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodWorkers } from "../pod/pod-workers.ts"
import type { RuntimeCache } from "../pleg/runtime-cache.ts"
import type { StatusManager } from "../status/status-manager.ts"

interface PodList<T> {
  readonly kind: "PodList"
  readonly apiVersion: "v1"
  readonly metadata: Readonly<Record<string, never>>
  readonly items: readonly T[]
}

/** What the runtime knows of a pod: less than the pod's own spec. */
export interface RunningPod {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string }
  readonly spec: {
    readonly containers: readonly {
      readonly name: string
      readonly image: string
      readonly resources: Readonly<Record<string, never>>
    }[]
  }
  readonly status: Readonly<Record<string, never>>
}

const list = <T>(items: readonly T[]): PodList<T> => ({ kind: "PodList", apiVersion: "v1", metadata: {}, items })

/**
 * The pods that are to run here, those from files among them, in the state that the kubelet sees: the API may be
 * behind.
 */
export const knownPods = (workers: PodWorkers, status: StatusManager): PodList<Omit<Pod, "kind" | "apiVersion">> =>
  list(
    workers.pods().map(({ kind: _, apiVersion: __, ...pod }) => ({
      ...pod,
      status: status.status({ ...pod, kind: "Pod", apiVersion: "v1" }),
    })),
  )

/** The pods of which the runtime has something running, whoever wants them. Source: kubecontainer.Pod.ToAPIPod. */
export const runningPods = (cache: RuntimeCache): PodList<RunningPod> =>
  list(
    cache.all().flatMap(({ identity, sandboxes, containers }) => {
      const running = containers.filter(({ state }) => state === "running")
      if (running.length === 0 && !sandboxes.some(({ ready }) => ready)) return []
      return [
        {
          metadata: { name: identity.name, namespace: identity.namespace, uid: identity.uid },
          spec: { containers: running.map(({ name, image }) => ({ name, image, resources: {} })) },
          status: {},
        },
      ]
    }),
  )
