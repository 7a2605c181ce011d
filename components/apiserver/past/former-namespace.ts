import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import { storageKey } from "../cacher/view.ts"

/**
 * Returns whether a revision was before the present namespace of a name. What was there then was in an earlier
 * namespace of the same name, if in any: rights in the present one say nothing of it, since others may have had it, and
 * it may have had their Secrets. Without a namespace everything was before.
 */
export function isFormer(storage: Pick<Storage, "get">, namespace: string, revision: number): boolean {
  const present = storage.get(storageKey(Namespace, { name: namespace }))
  return present === undefined || revision < present.created
}
