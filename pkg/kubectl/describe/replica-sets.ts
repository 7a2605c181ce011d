import { deepEqual } from "../../apimachinery/json/equal.ts"
import { fromLabelSelector } from "../../apimachinery/selectors/labels.ts"
import { parseTime } from "../../apimachinery/scalars/time.ts"
import type { Deployment } from "../../api/apps/v1/deployment.ts"
import type { ReplicaSet } from "../../api/apps/v1/replicaset.ts"
import { type DescribeClient, listInChunks } from "./describe-client.ts"

export const REPLICA_SETS = { group: "apps", version: "v1", resource: "replicasets" }
export const HASH_LABEL = "pod-template-hash"

export interface ReplicaSets {
  /** The one with the pod template of the Deployment, if there is one. */
  readonly newest: readonly ReplicaSet[]
  readonly old: readonly ReplicaSet[]
}

/** Returns the ReplicaSets of a Deployment. A chunk size of 0 has no limit. Source: kubectl pkg/util/deployment. */
export async function replicaSetsOf(
  { client, chunkSize }: { readonly client: DescribeClient; readonly chunkSize: number },
  { metadata, spec }: Deployment,
): Promise<ReplicaSets> {
  const { namespace = "", uid } = metadata
  const labelSelector = fromLabelSelector(spec.selector).toString()
  const query = labelSelector === "" ? {} : { labelSelector }
  const all = await listInChunks<ReplicaSet>(client, { path: REPLICA_SETS, namespace, query, limit: chunkSize })
  const owned = all
    .filter(({ metadata: { ownerReferences = [] } }) =>
      ownerReferences.some((owner) => owner.controller === true && owner.uid === uid),
    )
    .sort(byAge)
  const newest = owned.find((replicaSet) => sameTemplate(replicaSet.spec.template, spec.template))
  return { newest: newest === undefined ? [] : [newest], old: owned.filter((replicaSet) => replicaSet !== newest) }
}

/** The oldest first, and by name those of the same second. */
const byAge = (a: ReplicaSet, b: ReplicaSet): number =>
  createdAt(a) - createdAt(b) || ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1)
const createdAt = ({ metadata }: ReplicaSet): number =>
  (metadata.creationTimestamp ? parseTime(metadata.creationTimestamp) : undefined) ?? 0

type Template = ReplicaSet["spec"]["template"]
/** Whether two pod templates are equal but for the hash that ReplicaSets have. */
export const sameTemplate = (a: Template, b: Template): boolean => deepEqual(withoutHash(a), withoutHash(b))

/** Returns a template without the label that its ReplicaSet has added. */
export function withoutHash(template: Template): Template {
  const { [HASH_LABEL]: _, ...labels } = template?.metadata?.labels ?? {}
  return { ...template, metadata: { ...template?.metadata, labels } } as Template
}
