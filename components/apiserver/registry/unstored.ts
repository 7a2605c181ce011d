import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import { viewOf } from "../cacher/view.ts"
import type { Stored } from "../../../pkg/storage/storage.ts"

const encoder = new TextEncoder()

/** What a dry run answers, or an update that lets its object go: an object that looks stored but is not. */
export const unstored = (key: string, object: KubeObject): Stored => ({
  key,
  object,
  revision: 0,
  created: 0,
  time: 0,
  get json() {
    return encoder.encode(JSON.stringify(object))
  },
})

/**
 * Returns what a dry run answers: the object as it would be read after it was stored. A webhook that converts is asked
 * as for a write, and what it refuses fails the dry run. Source: apiserver pkg/registry/generic/registry/dryrun.go.
 */
export async function dryRunOf(resource: Resource, key: string, object: KubeObject): Promise<Stored> {
  if (resource.storedAs === undefined) return unstored(key, object)
  const view = viewOf(resource)
  return view.shown(unstored(key, await view.toStored(object)))
}
