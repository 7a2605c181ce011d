import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { startFrom, type Cluster } from "../cluster.ts"
import type { ClusterOptions } from "../options/options.ts"
import { clusterSnapshotOf, type SnapshotContent } from "../snapshot.ts"
import { closed } from "./closed.ts"
import { learntImages } from "./learnt-images.ts"
import { runningNodes } from "./going-on.ts"

/** A copy of a cluster in memory. */
export interface Fork {
  readonly cluster: Cluster
  /** In words, what it has not of the real one. */
  readonly left: readonly string[]
}

/** The Service whose address tells the range of Services, where no ServiceCIDR does. */
const API_SERVICE = "/registry/core/services/default/kubernetes"

/**
 * Starts a copy of a cluster: with its objects, and simulated nodes of the same sizes, on which its containers go on
 * and new ones behave as those of the real cluster have. Nothing that happens in it reaches the real one.
 */
export async function startFork(content: SnapshotContent, options: ClusterOptions = {}): Promise<Fork> {
  const { objects, left } = closed(content.objects)
  const valueOf = <T>({ value }: { readonly value: Uint8Array }): T => JSON.parse(Buffer.from(value).toString()) as T
  const all = <T>(prefix: string) => objects.filter(({ key }) => key.startsWith(prefix)).map((one) => valueOf<T>(one))
  const [pods, nodes] = [all<Pod>(Pod.prefix), all<Node>(Node.prefix)]
  const snapshot = clusterSnapshotOf({ ...content, objects })
  const service = objects.find(({ key }) => key === API_SERVICE)
  const serviceCidrs =
    snapshot.serviceCidrs.length > 0 || service === undefined
      ? snapshot.serviceCidrs
      : rangesOf(valueOf<ApiService>(service))
  const images = { ...learntImages(pods, content.time), ...options.images }
  const cluster = await startFrom(
    { frozen: false, ...options, images },
    { ...snapshot, serviceCidrs, running: runningNodes({ nodes, pods, images, now: content.time }) },
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

interface ApiService {
  readonly spec: { readonly clusterIPs?: readonly string[]; readonly clusterIP?: string }
}

/** Kubernetes before 1.33 does not tell the ranges of Services; most are /16 and /112. */
const rangesOf = ({ spec: { clusterIP, clusterIPs = clusterIP === undefined ? [] : [clusterIP] } }: ApiService) =>
  clusterIPs.map((ip) =>
    ip.includes(":") ? `${ip.replace(/[^:]*$/, "")}0/112` : `${ip.split(".").slice(0, 2).join(".")}.0.0/16`,
  )
