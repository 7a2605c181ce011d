import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { startFrom, type Cluster } from "../cluster.ts"
import type { ClusterOptions } from "../options/options.ts"
import { clusterSnapshotOf, type SnapshotContent } from "../snapshot.ts"
import { closed } from "./closed.ts"
import { learntImages } from "./learnt-images.ts"

/** A copy of a cluster in memory. */
export interface Fork {
  readonly cluster: Cluster
  /** In words, what it has not of the real one. */
  readonly left: readonly string[]
}

/** The Service whose address tells the range of Services, where no ServiceCIDR does. */
const API_SERVICE = "/registry/core/services/default/kubernetes"

/**
 * Starts a copy of a cluster: with its objects, and simulated nodes of the same sizes, on which containers begin anew
 * and behave as those of the real cluster have. Nothing that happens in it reaches the real one.
 */
export async function startFork(content: SnapshotContent, options: ClusterOptions = {}): Promise<Fork> {
  const { objects, left } = closed(content.objects)
  const valueOf = <T>({ value }: { readonly value: Uint8Array }): T => JSON.parse(Buffer.from(value).toString()) as T
  const pods = objects.filter(({ key }) => key.startsWith(Pod.prefix)).map((object) => valueOf<Pod>(object))
  const snapshot = clusterSnapshotOf({ ...content, objects })
  const service = objects.find(({ key }) => key === API_SERVICE)
  const serviceCidrs =
    snapshot.serviceCidrs.length > 0 || service === undefined
      ? snapshot.serviceCidrs
      : rangesOf(valueOf<ApiService>(service))
  const cluster = await startFrom(
    { frozen: false, ...options, images: { ...learntImages(pods), ...options.images } },
    { ...snapshot, serviceCidrs },
  )
  return { cluster, left }
}

interface ApiService {
  readonly spec: { readonly clusterIPs?: readonly string[]; readonly clusterIP?: string }
}

/** Kubernetes before 1.33 does not tell the ranges of Services; most are /16 and /112. */
const rangesOf = ({ spec: { clusterIP, clusterIPs = clusterIP === undefined ? [] : [clusterIP] } }: ApiService) =>
  clusterIPs.map((ip) =>
    ip.includes(":") ? `${ip.replace(/[^:]*$/, "")}0/112` : `${ip.split(".").slice(0, 2).join(".")}.0.0/16`,
  )
