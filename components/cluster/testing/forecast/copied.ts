import type { SnapshotObject } from "../../../../pkg/snapshot/records.ts"
import { clusterSnapshotOf, type ClusterSnapshot, type SnapshotContent } from "../snapshot.ts"
import { closed } from "./closed.ts"

/** The Service whose address tells the range of Services, where no ServiceCIDR does. */
const API_SERVICE = "/registry/core/services/default/kubernetes"

/** What a copy of a cluster begins with. */
export interface Copied {
  readonly snapshot: ClusterSnapshot
  /** In words, what it has not of the real one. */
  readonly left: readonly string[]
  readonly objects: readonly SnapshotObject[]
}

/** Returns what a copy of a cluster begins with: the objects by which nothing reaches the real one. */
export function copied(content: SnapshotContent): Copied {
  const { objects, left } = closed(content.objects)
  const snapshot = clusterSnapshotOf({ ...content, objects })
  const service = objects.find(({ key }) => key === API_SERVICE)
  const serviceCidrs =
    snapshot.serviceCidrs.length > 0 || service === undefined
      ? snapshot.serviceCidrs
      : rangesOf(valueOf<ApiService>(service))
  return { snapshot: { ...snapshot, serviceCidrs }, left, objects }
}

export const valueOf = <T>({ value }: SnapshotObject): T => JSON.parse(Buffer.from(value).toString()) as T

interface ApiService {
  readonly spec: { readonly clusterIPs?: readonly string[]; readonly clusterIP?: string }
}

/** Kubernetes before 1.33 does not tell the ranges of Services; most are /16 and /112. */
const rangesOf = ({ spec: { clusterIP, clusterIPs = clusterIP === undefined ? [] : [clusterIP] } }: ApiService) =>
  clusterIPs.map((ip) =>
    ip.includes(":") ? `${ip.replace(/[^:]*$/, "")}0/112` : `${ip.split(".").slice(0, 2).join(".")}.0.0/16`,
  )
