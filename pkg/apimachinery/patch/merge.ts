import { badRequest } from "../errors.ts"
import { isJsonObject as isObject } from "../json/json-value.ts"

/**
 * JSON Merge Patch (RFC 7386) on immutable values: null deletes, objects merge, everything else replaces. Parts that
 * the patch does not touch are shared with the result; a patch without effect returns the same document.
 * @throws ApiError BadRequest when the patch is not an object
 */
export function applyMergePatch(document: object, patch: unknown): object {
  if (!isObject(patch)) throw badRequest("error decoding patch: a merge patch of an object must be an object")
  return merge(document, patch) as object
}

function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const base = isObject(target) ? target : {}
  let out: Record<string, unknown> | undefined = isObject(target) ? undefined : {}
  for (const [key, value] of Object.entries(patch)) {
    const before = Object.hasOwn(base, key) ? base[key] : undefined
    if (value === null) {
      if (before !== undefined) delete (out ??= { ...base })[key]
      continue
    }
    const after = merge(before, value)
    if (after !== before)
      Object.defineProperty((out ??= { ...base }), key, {
        value: after,
        enumerable: true,
        writable: true,
        configurable: true,
      })
  }
  return out ?? target
}
