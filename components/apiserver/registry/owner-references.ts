import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import type { OwnerReference } from "../../../pkg/apimachinery/meta.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { ApiRequest } from "../call/request.ts"

/**
 * Returns the object with each owner reference once, and warns about duplicates; `when` names the stage that found
 * them. Source: endpoints/handlers/rest.go dedupOwnerReferencesAndAddWarning.
 */
export function withDistinctOwners<T extends KubeObject>(
  { warn }: ApiRequest,
  object: T,
  when: "" | " after mutating admission happens" = "",
): T {
  const owners = object.metadata.ownerReferences ?? []
  if (owners.length < 2) return object
  const byUid = new Map<string, OwnerReference[]>()
  const kept: OwnerReference[] = []
  const repeated: string[] = []
  for (const owner of owners) {
    const known = byUid.get(owner.uid) ?? []
    if (known.some((other) => deepEqual(other, owner))) repeated.push(owner.uid)
    else {
      byUid.set(owner.uid, [...known, owner])
      kept.push(owner)
    }
  }
  if (repeated.length === 0) return object
  warn(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in ` +
      "1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) " +
      `observed: ${repeated.join(", ")}`,
  )
  return { ...object, metadata: { ...object.metadata, ownerReferences: kept } }
}
