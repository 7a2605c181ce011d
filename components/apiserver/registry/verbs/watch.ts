import { ApiError, methodNotSupported } from "../../../../pkg/apimachinery/errors.ts"
import type { Watch } from "../../../../pkg/client/client.ts"
import { checkListOptions, checkNotFuture, versionOfRead } from "../../cacher/resource-version.ts"
import { selectionOf } from "../../cacher/selection.ts"
import type { AuthorizedRequest, WatchSink } from "../../call/request.ts"
import type { RegistryContext } from "../context.ts"

/** How often watches hear how far the log is. Source: cacher.go defaultBookmarkFrequency. */
const BOOKMARKS_MS = 60_000
/**
 * No connection of theirs breaks. Should such a watch be ended all the same, its last bookmark is well within the
 * history that is kept.
 */
const IN_PROCESS_BOOKMARKS_MS = 15 * 60_000

/**
 * Follows a collection, or one object of it. Without a resourceVersion, or from "0", it begins with what there is; from
 * another one with what came after. Source: apiserver pkg/storage/cacher, KEP-3157 (sendInitialEvents).
 */
export function watch({ storage, hub, features }: RegistryContext, request: AuthorizedRequest, sink: WatchSink): Watch {
  const { resource, namespace, name, options } = request
  if (!resource.verbs.includes("watch")) throw methodNotSupported(resource, "watch")
  checkListOptions(options, "watch", features?.WatchList)
  const version = versionOfRead(options.resourceVersion)
  if (version !== undefined) checkNotFuture(version, storage.revision)
  if (options.timeoutSeconds !== undefined && options.timeoutSeconds < 0) {
    sink.end(new ApiError("InternalError", "context deadline exceeded"))
    return { close: () => undefined }
  }
  const fromPresent = version === undefined || version === 0
  // Source: apimachinery internalversion SetListOptionsDefaults. Without WatchList the same objects come, with no mark.
  const byDefault =
    fromPresent && options.resourceVersionMatch === undefined && features?.WatchList !== false ? true : undefined
  const sendInitialEvents = options.sendInitialEvents ?? byDefault
  const fieldSelector = [options.fieldSelector ?? "", name === undefined ? "" : `metadata.name=${name}`]
    .filter((text) => text !== "")
    .join(",")
  return hub.watch(
    {
      resource,
      namespace,
      selection: selectionOf(resource, { ...options, fieldSelector }),
      after: fromPresent ? undefined : version,
      fromAnyKept: request.inProcess === true,
      initialEvents: sendInitialEvents ?? fromPresent,
      markInitialEnd: sendInitialEvents === true && options.allowWatchBookmarks === true,
      bookmarkEveryMs:
        options.allowWatchBookmarks !== true
          ? undefined
          : request.inProcess === true
            ? IN_PROCESS_BOOKMARKS_MS
            : BOOKMARKS_MS,
      timeoutSeconds: options.timeoutSeconds,
    },
    sink,
  )
}
