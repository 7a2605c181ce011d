import { ApiError, badRequest, methodNotSupported } from "../../../../pkg/apimachinery/errors.ts"
import type { ListMeta } from "../../../../pkg/apimachinery/meta.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { Page } from "../../../../pkg/storage/page.ts"
import type { Stored } from "../../../../pkg/storage/storage.ts"
import { checkListOptions, checkNotFuture, versionOfList } from "../../cacher/resource-version.ts"
import { selectionOf, type Selection } from "../../cacher/selection.ts"
import { listAt, pageAt } from "../../cacher/snapshot.ts"
import { ShownObject, storageKey, storagePrefix, viewOf, type ShowsAtOnce } from "../../cacher/view.ts"
import type { ApiRequest, ApiResult, RequestOptions } from "../../call/request.ts"
import type { RegistryContext } from "../context.ts"
import { decodeToken, encodeToken, type ListPosition } from "../continue-token.ts"
import { nextTurn } from "../../../../pkg/clock/next-turn.ts"
import { isPending, whenReady } from "../../call/maybe-promise.ts"

/**
 * GET of a collection: all of it, or a chunk and a token for the rest. All chunks show the collection at the revision
 * of the first.
 */
export function list(context: RegistryContext, asked: ApiRequest): ApiResult | Promise<ApiResult> {
  const request = isWhole(asked) ? { ...asked, options: { ...asked.options, limit: 0 } } : asked
  const { resource, options } = request
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
  // Without selectors only the objects of this chunk need to be found and converted.
  const { items, remaining } =
    selection.everything && limit > 0
      ? chunk(context, request, from, limit)
      : { items: candidates(context, request, selection, from), remaining: 0 }
  const answer = (objects: readonly Stored[]): ApiResult =>
    selection.everything ? listed(request, from, objects, objects.length + remaining) : selected(request, from, objects)
  const view = viewOf(resource)
  const isWork = !selection.everything || resource.storedAs !== undefined
  if (isWork && view.atOnce !== undefined && items.length > OBJECTS_OF_TURN)
    return foundInSteps(items, view.atOnce, selection, context.clock).then(answer)
  const matching = (objects: readonly Stored[]) =>
    selection.everything ? objects : objects.filter(({ object }) => selection.matches(object))
  if (view.atOnce === undefined && context.isPast !== true && isFromCache(options, selection))
    return convertedList(context, request, items, (shown) => answer(matching(shown)))
  return whenReady(view.allShown(items), (shown) => answer(matching(shown)))
}

/**
 * Whether a list has all objects whatever its limit: one of `resourceVersion=0`, which upstream's watch cache answers.
 * Events, which expire, have no such cache. Source: cacher/delegator.go ShouldDelegateList, kubeapiserver's
 * watch-cache sizes.
 */
const isWhole = ({ resource, options }: ApiRequest): boolean =>
  (options.limit ?? 0) > 0 &&
  options.resourceVersion === "0" &&
  (options.continue ?? "") === "" &&
  resource.ttlSeconds === undefined

/**
 * Whether upstream answers a list from its watch cache even while it cannot be filled, which is with 429. Others are
 * read from etcd. Source: cacher/delegator.go GetList, shouldDelegateListOnNotReadyCache.
 */
const isFromCache = (options: RequestOptions, { everything }: Selection): boolean =>
  !(everything && (options.limit ?? 0) > 0) &&
  options.resourceVersionMatch !== "Exact" &&
  (options.continue ?? "") === ""

/** Returns a list whose objects a webhook converts; refuses it with 429 while that fails. */
function convertedList(
  { hub }: RegistryContext,
  { resource, namespace }: ApiRequest,
  items: readonly Stored[],
  answer: (shown: readonly Stored[]) => ApiResult,
): ApiResult | Promise<ApiResult> {
  const prefix = storagePrefix(resource, namespace)
  const refusal = hub.readiness.refusal(resource, prefix)
  if (refusal !== undefined) throw refusal
  const shown = viewOf(resource).allShown(items)
  if (!isPending(shown)) return answer(shown)
  return shown.then(answer, (err: unknown) => {
    throw hub.readiness.failed(resource, prefix, err)
  })
}

/** The objects that are converted and compared with selectors in one turn: some milliseconds of work. */
const OBJECTS_OF_TURN = 500

/** Returns what the selection matches of thousands of objects. Other requests are served in between. */
async function foundInSteps(
  items: readonly Stored[],
  shown: ShowsAtOnce,
  selection: Selection,
  clock: Pick<Clock, "afterTurn">,
): Promise<readonly Stored[]> {
  const found: Stored[] = []
  for (let from = 0; from < items.length; from += OBJECTS_OF_TURN) {
    if (from > 0) await nextTurn(clock)
    for (const item of items.slice(from, from + OBJECTS_OF_TURN)) {
      const seen = shown(item)
      if (selection.everything || selection.matches(seen.object)) found.push(seen)
    }
  }
  return found
}

/** With selectors the remaining objects are not counted, as upstream. */
function selected(request: ApiRequest, from: ListPosition, found: readonly Stored[]): ApiResult {
  const { limit = 0 } = request.options
  const isPart = limit > 0 && found.length > limit
  return listed(request, from, isPart ? found.slice(0, limit) : found, isPart ? undefined : found.length)
}

/** Returns the response with `items`, the first of `count` objects; `count` is unknown with selectors. */
function listed(
  { resource, namespace }: ApiRequest,
  { revision }: ListPosition,
  items: readonly Stored[],
  count: number | undefined,
): ApiResult {
  const resourceVersion = String(revision)
  if (count === items.length) return { kind: "list", resource, metadata: { resourceVersion }, items }
  const prefix = storagePrefix(resource, namespace)
  const metadata: ListMeta = {
    resourceVersion,
    continue: encodeToken({ revision, after: items.at(-1)!.key.slice(prefix.length) }),
    ...(count === undefined ? {} : { remainingItemCount: count - items.length }),
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
  // A chunked list with a resourceVersion shows exactly that revision, as it did before resourceVersionMatch existed.
  const isExact = match === "Exact" || (match === "" && limit > 0 && wanted !== undefined && wanted > 0)
  if (wanted !== undefined) checkNotFuture(wanted, revision, isExact ? 0 : 1)
  return { revision: isExact ? wanted! : revision, after: undefined }
}

/** Returns the objects of one chunk of a list without selectors, and how many follow. */
function chunk(
  { storage, history }: RegistryContext,
  { resource, namespace }: ApiRequest,
  { revision, after }: ListPosition,
  limit: number,
): Page<Stored> {
  const prefix = storagePrefix(resource, namespace)
  checkNotFuture(revision, storage.revision, 0)
  if (revision < history.expired) throw expired(after)
  return pageAt(storage, prefix, revision, after === undefined ? undefined : prefix + after, limit)
}

/** Returns the stored objects among which the selection chooses. */
function candidates(
  { storage, history }: RegistryContext,
  { resource, namespace }: ApiRequest,
  selection: Selection,
  { revision, after }: ListPosition,
): readonly Stored[] {
  const prefix = storagePrefix(resource, namespace)
  if (revision === storage.revision && after === undefined) {
    if (selection.name !== undefined && (namespace !== undefined || resource.scope === "Cluster")) {
      const stored = storage.get(storageKey(resource, { namespace, name: selection.name }))
      return stored === undefined ? [] : [stored]
    }
    return storage.list(prefix)
  }
  checkNotFuture(revision, storage.revision, 0)
  if (revision < history.expired) throw expired(after)
  const all = listAt(storage, prefix, revision)
  return after === undefined ? all : all.filter(({ key }) => key > prefix + after)
}

/** Source: apiserver pkg/storage/etcd3/errors.go. */
function expired(after: string | undefined): ApiError {
  if (after === undefined) return new ApiError("Expired", "The resourceVersion for the provided list is too old.")
  const message =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
  return new ApiError("Expired", message, undefined, { metadata: { continue: encodeToken({ revision: -1, after }) } })
}
