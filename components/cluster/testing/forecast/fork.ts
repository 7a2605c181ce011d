import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { startFrom, type Cluster } from "../cluster.ts"
import type { ClusterOptions } from "../options/options.ts"
import type { SnapshotContent } from "../snapshot.ts"
import { copied, valueOf } from "./copied.ts"
import { learntImages } from "./learnt-images.ts"
import { runningNodes } from "./going-on.ts"

/** A copy of a cluster in memory. */
export interface Fork {
  readonly cluster: Cluster
  /** In words, what it has not of the real one. */
  readonly left: readonly string[]
}

/**
 * Starts a copy of a cluster: with its objects, gates and kinds, and simulated nodes of the same sizes, on which its
 * containers go on and new ones behave as those of the real cluster have. Nothing that happens in it reaches the real
 * one.
 */
export async function startFork(content: SnapshotContent, options: ClusterOptions = {}): Promise<Fork> {
  const { snapshot, left, objects } = copied(content)
  const all = <T>(prefix: string) => objects.filter(({ key }) => key.startsWith(prefix)).map((one) => valueOf<T>(one))
  const [pods, nodes] = [all<Pod>(Pod.prefix), all<Node>(Node.prefix)]
  const images = { ...learntImages(pods, content.time), ...options.images }
  const cluster = await startFrom(
    { frozen: false, ...content.settings, ...options, images },
    { ...snapshot, running: runningNodes({ nodes, pods, images, now: content.time }) },
  )
  return { cluster, left: [...left, ...shortages(nodes)] }
}

const SHORTAGES: Readonly<Record<string, string>> = {
  MemoryPressure: "memory",
  DiskPressure: "disk space",
  PIDPressure: "processes",
}

/** A simulated node has enough of everything. */
const shortages = (nodes: readonly Node[]): readonly string[] =>
  nodes.flatMap(({ metadata, status }) =>
    (status.conditions ?? []).flatMap(({ type, status: isShort }) =>
      isShort === "True" && SHORTAGES[type] !== undefined
        ? [`node ${metadata.name} is not short of ${SHORTAGES[type]}`]
        : [],
    ),
  )
