import { isDeepStrictEqual } from "node:util"
import type { KubeObject } from "../../../components/cluster/testing/testing.ts"
import { nameOf } from "../world.ts"
import type { WriteInvariant } from "./write.ts"

/** Finalizers that a further request to delete adds, for what it wants done with dependents. */
const FOR_DEPENDENTS: ReadonlySet<string> = new Set(["foregroundDeletion", "orphan"])

/**
 * What the API server promises of metadata: the UID and the time of creation stay, revisions rise and are those of the
 * object, and a deletion is never taken back or put off, unless its time has passed: then it is now. Source:
 * apiserver pkg/registry/rest/delete.go, apimachinery ValidateObjectMetaAccessorUpdate.
 */
export const keepsIdentity: WriteInvariant = ({ type, object, previous, revision, time }) => {
  const { metadata } = object
  const problems: string[] = []
  if (type !== "delete" && metadata.resourceVersion !== undefined && Number(metadata.resourceVersion) !== revision)
    problems.push(`has the revision ${metadata.resourceVersion} in the write ${revision}`)
  if (type === "create" && metadata.deletionTimestamp !== undefined) problems.push("was created as deleted")
  if (previous !== undefined && type !== "create") {
    const { metadata: before } = previous
    if (before.uid !== metadata.uid) problems.push(`had the UID ${before.uid} and has ${metadata.uid}`)
    if (before.creationTimestamp !== metadata.creationTimestamp)
      problems.push(`was created at ${before.creationTimestamp} and then at ${metadata.creationTimestamp}`)
    if (Number(before.resourceVersion) >= revision)
      problems.push(`goes from revision ${before.resourceVersion} to ${revision}`)
    const [was, is] = [before.deletionTimestamp, metadata.deletionTimestamp]
    if (was !== undefined && (is === undefined || (is > was && Date.parse(is) > Date.parse(time))))
      problems.push(`is deleted until ${was} and then until ${is}`)
    if (was !== undefined && is !== undefined) {
      const added = (metadata.finalizers ?? []).filter(
        (one) => before.finalizers?.includes(one) !== true && !FOR_DEPENDENTS.has(one),
      )
      if (added.length > 0) problems.push(`got the finalizers ${added.join()} after its deletion`)
    }
  }
  return problems.map((problem) => `${nameOf(object)} ${problem}`)
}

/**
 * An update that changes nothing is no revision, but for the usage of a quota: one of several servers writes it with
 * each object, so that no other has counted the same. Source: apiserver pkg/storage/etcd3/store.go GuaranteedUpdate.
 */
export const changesSomething: WriteInvariant = ({ type, object, previous, author }) => {
  if (type !== "update" || previous === undefined) return []
  if (object.kind === "ResourceQuota" && author === "system:apiserver") return []
  const { metadata, ...rest } = object
  const { metadata: before, ...restBefore } = previous
  return isDeepStrictEqual(rest, restBefore) && isDeepStrictEqual(timeless(metadata), timeless(before))
    ? [`${nameOf(object)} was written again as it was`]
    : []
}

/** Returns the metadata without the revision and the times of its managers. */
const timeless = ({ resourceVersion: _revision, managedFields = [], ...metadata }: KubeObject["metadata"]) => [
  metadata,
  managedFields.map(({ time: _time, ...manager }) => manager),
]
