import { ApiError, badRequest, methodNotSupported } from "../../../pkg/apimachinery/errors.ts"
import type { ListMeta } from "../../../pkg/apimachinery/meta.ts"
import type { Stored } from "../../../pkg/storage/storage.ts"
import { checkListOptions, checkNotFuture, versionOfList } from "../cacher/resource-version.ts"
import { selectionOf, type Selection } from "../cacher/selection.ts"
import { listAt } from "../cacher/snapshot.ts"
import { ShownObject, storageKey, storagePrefix, viewOf } from "../cacher/view.ts"
import type { ApiRequest, ApiResult } from "../request.ts"
import type { RegistryContext } from "./context.ts"
import { decodeToken, encodeToken, type ListPosition } from "./continue-token.ts"

/**
 * GET of a collection: all of it, or a part and a token for the rest. All parts show the collection as it was when the
 * first was asked for.
 */
export function list(context: RegistryContext, request: ApiRequest): ApiResult {
  const { resource, namespace, options } = request
  if (!resource.verbs.includes("list")) throw methodNotSupported(resource, "list")
  checkListOptions(options, "list")
  const selection = selectionOf(resource, options)
  const virtual = context.hooks(resource)?.listVirtual
  if (virtual !== undefined) {
    const items = virtual()
      .filter((object) => selection.matches(object))
      .map((object) => new ShownObject({ key: object.metadata.name ?? "", revision: 0, created: 0, time: 0 }, object))
    return { kind: "list", resource, metadata: {}, items }
  }
  const { limit = 0 } = options
  const from = start(context, request)
  const found = select(context, request, selection, from)
  if (limit <= 0 || found.length <= limit)
    return { kind: "list", resource, metadata: { resourceVersion: String(from.revision) }, items: found }
  const items = found.slice(0, limit)
  const prefix = storagePrefix(resource, namespace)
  const metadata: ListMeta = {
    resourceVersion: String(from.revision),
    continue: encodeToken({ revision: from.revision, after: items.at(-1)!.key.slice(prefix.length) }),
    // How many more match is not counted with selectors, as upstream does not.
    ...(selection.everything ? { remainingItemCount: found.length - limit } : {}),
  }
  return { kind: "list", resource, metadata, items }
}

/** Source of the rules: apiserver pkg/storage/interfaces.go ValidateListOptions. */
function start({ storage }: RegistryContext, { options }: ApiRequest): ListPosition {
  const { revision } = storage
  const { limit = 0, resourceVersion = "", resourceVersionMatch: match = "", continue: text = "" } = options
  if (text !== "") {
    const token = decodeToken(text)
    if (resourceVersion !== "" && resourceVersion !== "0")
      throw badRequest("specifying resource version is not allowed when using continue")
    return token.revision < 0 ? { ...token, revision } : token
  }
  const wanted = versionOfList(resourceVersion)
  // A part of a list is of the very version that was asked for, as it was before there was a match to ask for.
  const isExact = match === "Exact" || (match === "" && limit > 0 && wanted !== undefined && wanted > 0)
  if (wanted !== undefined) checkNotFuture(wanted, revision, isExact ? 0 : 1)
  return { revision: isExact ? wanted! : revision, after: undefined }
}

function select(
  { storage, history }: RegistryContext,
  { resource, namespace }: ApiRequest,
  selection: Selection,
  { revision, after }: ListPosition,
): readonly Stored[] {
  const view = viewOf(resource)
  const prefix = storagePrefix(resource, namespace)
  if (revision === storage.revision && after === undefined) {
    if (selection.name !== undefined && (namespace !== undefined || resource.scope === "Cluster")) {
      const stored = storage.get(storageKey(resource, { namespace, name: selection.name }))
      return stored !== undefined && selection.matches(view.shown(stored).object) ? [view.shown(stored)] : []
    }
    if (selection.everything) return view.allShown(storage.list(prefix))
  }
  checkNotFuture(revision, storage.revision, 0)
  if (revision < history.expired) throw expired(after)
  const all = listAt(storage, prefix, revision)
  const rest = after === undefined ? all : all.filter(({ key }) => key > prefix + after)
  const shown = view.allShown(rest)
  return selection.everything ? shown : shown.filter(({ object }) => selection.matches(object))
}

/** Source: apiserver pkg/storage/etcd3/errors.go. */
function expired(after: string | undefined): ApiError {
  if (after === undefined) return new ApiError("Expired", "The resourceVersion for the provided list is too old.")
  const message =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
  return new ApiError("Expired", message, undefined, { metadata: { continue: encodeToken({ revision: -1, after }) } })
}
