import { ApiError } from "../../errors.ts"
import type { KubeObject, Resource } from "../../resource.ts"
import { managedBy, recorded, startingEntries, trackUpdate, withEntries, type ChangedBy } from "./track.ts"
import { changesIn, hasOtherVersions, liveIn, run, type ConvertVersion, type Steps } from "./versions.ts"

/**
 * Records in metadata.managedFields what an update or patch changed, as `trackUpdate` does, when managers may have
 * written the object in other versions. If a conversion fails, the object loses its managedFields, and the write
 * continues. Source: fieldmanager.go UpdateNoErrors.
 */
export function trackUpdateIn<T extends KubeObject>(
  resource: Resource<T>,
  old: T,
  object: T,
  by: ChangedBy,
  convert: ConvertVersion,
): T | Promise<T> {
  const entries = startingEntries(old, object, by.subresource)
  if (!hasOtherVersions(entries, resource)) return trackUpdate(resource, old, object, by)
  function* steps(): Steps<T> {
    const shown = yield* liveIn(resource as Resource, old, entries)
    const others = yield* changesIn(shown, object, resource, by.subresource)
    return withEntries(object, recorded(resource, old, object, entries, managedBy(resource, by), by.now, others))
  }
  const cleared = (error: unknown): T => {
    if (error instanceof ApiError) return withEntries(object, undefined)
    throw error
  }
  try {
    const tracked = run(steps(), convert)
    return tracked instanceof Promise ? tracked.catch(cleared) : tracked
  } catch (error) {
    return cleared(error)
  }
}
