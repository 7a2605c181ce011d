import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { Stored, Write } from "../../../pkg/storage/storage.ts"
import type { ApiRequest } from "../call/request.ts"
import { keepingOf, viewOf } from "../cacher/view.ts"
import type { RegistryContext } from "./context.ts"
import { pauseOf } from "./large-writes.ts"
import { writeWithinSize } from "./object-size.ts"
import { writeAlong } from "./write-along.ts"
import { whenReady } from "../call/maybe-promise.ts"

interface Persisted {
  /** Where the object is stored: what the request names, whatever the metadata say. */
  readonly key: string
  readonly object: KubeObject
  /** The revision that must be stored now; 0 for none. */
  readonly expected: number
  /** Returns what is written in the same transaction, given the object as it is written. */
  along(object: KubeObject): readonly Write[] | undefined
}

/**
 * Writes an object in the version in which its kind is stored. Only a conversion by a webhook, and the steps of a large
 * object, take more than this turn of the event loop. Returns what the store has, in that version.
 * @throws ApiError RequestEntityTooLarge; StorageError; CompanionTakenError
 */
export function persistObject(
  context: RegistryContext,
  request: Pick<ApiRequest, "resource" | "user" | "isLarge">,
  { key, object, expected, along }: Persisted,
): Promise<Stored> {
  const { storage, clock, eventSeconds } = context
  const { resource, user } = request
  const view = viewOf(resource)
  return writeWithinSize(
    resource,
    object,
    (shown, checkSize) => {
      const write = (kept: KubeObject) =>
        writeAlong(
          storage,
          {
            key,
            object: kept,
            expected,
            time: clock.now(),
            author: user.name,
            checkSize,
            ...keepingOf(resource, eventSeconds),
          },
          along(shown),
        )
      return whenReady(view.toStored(shown), write)
    },
    pauseOf(context, request),
  )
}
