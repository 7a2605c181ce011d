/** What runs in a cluster that is copied, and how it goes on in the copy. */
import type { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import type { ContainerImage } from "../../../../pkg/api/core/v1/node/nodestatus.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { milliOf, unitsOf } from "../../../../pkg/apimachinery/scalars/quantity.ts"
import { DEFAULT_HARD, limitOf } from "../../../kubelet/model/thresholds.ts"
import type { Reserved } from "../../../kubelet/model/tuning.ts"
import { ImageBehaviours, type ImageBehaviour } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { RunningPod, RunOfContainer } from "../../../kubelet/runtime/simulated/containers/running-pod.ts"
import type { PresentImage } from "../../../kubelet/runtime/simulated/images.ts"
import type { RunningNode, RunningNodes } from "../nodes/running-nodes.ts"
import { runningPod } from "./running-pod.ts"
import { failing, staysUnready } from "./unready.ts"

export interface GoingOnRequest {
  readonly nodes: readonly Node[]
  readonly pods: readonly Pod[]
  readonly images: Readonly<Record<string, ImageBehaviour>>
  /** Milliseconds since the epoch. */
  readonly now: number
}

export function runningNodes({ nodes, pods, images, now }: GoingOnRequest): RunningNodes {
  const behaviours = new ImageBehaviours(images)
  const podsOf = Map.groupBy(pods, ({ spec }) => spec.nodeName ?? "")
  const byName = new Map(nodes.map((node) => [node.metadata.name ?? "", node]))
  return {
    on(name) {
      const node = byName.get(name)
      return node === undefined ? undefined : runningNode(node, podsOf.get(name) ?? [])
    },
    behaviourOf({ container, isReady, isLasting, startedAt }: RunOfContainer) {
      const known = behaviours.of(container.image ?? "")
      // What runs goes on, unless the image is known to end.
      const behaviour = isLasting && known.runsMs === undefined ? { ...known, ignoresCommand: true } : known
      // What is ready listens, whatever others have needed for it.
      if (isReady) return { ...behaviour, listensAfterMs: 0 }
      const probe = "readinessProbe" in container ? container.readinessProbe : undefined
      if (probe === undefined || !staysUnready(now - startedAt, behaviour)) return behaviour
      return { ...behaviour, ...failing(probe) }
    },
  }
}

function runningNode({ status }: Node, pods: readonly Pod[]): RunningNode {
  const ready = status.conditions?.find(({ type }) => type === "Ready")
  const running = pods.flatMap((pod) => runningPod(pod) ?? [])
  const isLost = ready?.status !== "True" && ready?.status !== "False"
  return {
    pods: isLost ? [] : running,
    images: [...(status.images ?? []).map(presentImage), ...imagesOf(running)],
    reserved: reservedOf(status),
    isLost,
    problem: ready?.status === "False" ? (ready.message ?? "it is not ready") : undefined,
  }
}

function presentImage({ names, sizeBytes }: ContainerImage): PresentImage {
  // Tags first; one that was given to a later image is `<none>`.
  const known = (names ?? []).filter((name) => !name.includes("<none>"))
  const tags = known.filter((name) => !name.includes("@"))
  return { names: [...tags, ...known.filter((name) => name.includes("@"))], size: sizeBytes }
}

/** The images of containers that run; the Node names only some. */
const imagesOf = (pods: readonly RunningPod[]): readonly PresentImage[] =>
  pods.flatMap(({ containers }) =>
    containers.map(({ container, imageId }) => ({
      names: [container.image ?? "", ...(imageId.includes("@") ? [imageId] : [])],
    })),
  )

/** What the Node's status says to be there, but not for pods. */
function reservedOf({ capacity = {}, allocatable = {} }: Node["status"]): Reserved {
  const missing = (name: string, amount = unitsOf) => {
    const [all, free] = [capacity[name], allocatable[name]]
    return all === undefined || free === undefined ? 0 : amount(all) - amount(free)
  }
  // The kubelet takes away what eviction keeps free, too.
  const kept = (signal: "memory.available" | "nodefs.available", name: string) =>
    capacity[name] === undefined ? 0 : limitOf(DEFAULT_HARD[signal]!, unitsOf(capacity[name]))
  return {
    cpuMilli: missing("cpu", milliOf),
    memoryBytes: Math.floor(missing("memory") - kept("memory.available", "memory")),
    diskBytes: Math.floor(missing("ephemeral-storage") - kept("nodefs.available", "ephemeral-storage")),
  }
}
