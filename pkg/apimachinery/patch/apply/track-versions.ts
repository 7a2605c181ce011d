import { ApiError } from "../../errors.ts"
import type { KubeObject, Resource } from "../../resource.ts"
import { managedBy, recording, startingEntries, tracking, withEntries, type ChangedBy } from "./track.ts"
import { changesIn, hasOtherVersions, liveIn, run, type ConvertVersion, type Pause, type Steps } from "./versions.ts"

/**
 * Records in metadata.managedFields what an update or patch changed, as `trackUpdate` does, when managers may have
 * written the object in other versions. If a conversion fails, the object loses its managedFields, and the write
 * continues. With a `pause`, the work is done in steps. Source: fieldmanager.go UpdateNoErrors.
 */
export function trackUpdateIn<T extends KubeObject>(
  resource: Resource<T>,
  old: T,
  object: T,
  by: ChangedBy,
  convert: ConvertVersion,
  pause?: Pause,
): T | Promise<T> {
  const entries = startingEntries(resource, old, object, by.subresource)
  if (!hasOtherVersions(entries, resource)) return run(tracking(resource, old, object, by), convert, pause)
  function* steps(): Steps<T> {
    const shown = yield* liveIn(resource as Resource, old, entries)
    const others = yield* changesIn(shown, object, resource, by.subresource)
    const self = managedBy(resource, by)
    return withEntries(object, yield* recording(resource, old, object, entries, self, by.now, others))
  }
  const cleared = (error: unknown): T => {
    if (error instanceof ApiError) return withEntries(object, undefined)
    throw error
  }
  try {
    const tracked = run(steps(), convert, pause)
    return tracked instanceof Promise ? tracked.catch(cleared) : tracked
  } catch (error) {
    return cleared(error)
  }
}
