import { Buffer } from "node:buffer"
import { ApiError, badRequest, methodNotSupported } from "../../../pkg/apimachinery/errors.ts"
import type { ListMeta } from "../../../pkg/apimachinery/meta.ts"
import type { Stored } from "../../../pkg/storage/storage.ts"
import { checkListOptions, checkNotFuture, parseResourceVersion } from "../cacher/resource-version.ts"
import { selectionOf, type Selection } from "../cacher/selection.ts"
import { listAt } from "../cacher/snapshot.ts"
import { ShownObject, storageKey, storagePrefix, viewOf } from "../cacher/view.ts"
import type { ApiRequest, ApiResult } from "../request.ts"
import type { RegistryContext } from "./context.ts"

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
  if (limit < 0) throw badRequest(`limit: Invalid value: ${limit}: must be greater than or equal to 0`)
  const from = start(context, request)
  const found = select(context, request, selection, from)
  if (limit === 0 || found.length <= limit)
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

interface Start {
  readonly revision: number
  /** The last key already given, without the prefix. */
  readonly after: string | undefined
}

function start({ storage }: RegistryContext, { options }: ApiRequest): Start {
  const { revision } = storage
  if (options.continue !== undefined && options.continue !== "") {
    if ((options.resourceVersion ?? "") !== "" && options.resourceVersion !== "0")
      throw badRequest("specifying resource version is not allowed when using continue")
    const token = decodeToken(options.continue)
    // -1 marks the token of an inconsistent continuation: the rest as it is now.
    return token.revision < 0 ? { ...token, revision } : token
  }
  const wanted = parseResourceVersion(options.resourceVersion)
  if (wanted !== undefined) checkNotFuture(wanted, revision)
  return {
    revision: options.resourceVersionMatch === "Exact" && wanted !== undefined ? wanted : revision,
    after: undefined,
  }
}

function select(
  { storage, history }: RegistryContext,
  { resource, namespace }: ApiRequest,
  selection: Selection,
  { revision, after }: Start,
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
  checkNotFuture(revision, storage.revision)
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

/** Source of the form: apiserver pkg/storage/continue.go. */
const encodeToken = ({ revision, after }: Start): string =>
  Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: revision, start: `${after ?? ""}\u0000` })).toString(
    "base64url",
  )

/** Source of the texts: apiserver pkg/storage/continue.go DecodeContinue, pkg/registry/generic/registry/store.go. */
function decodeToken(text: string): Start {
  const wrong = (why: string) => badRequest(`invalid continue token: continue key is not valid: ${why}`)
  let token: { v?: unknown; rv?: unknown; start?: unknown }
  try {
    token = Object(JSON.parse(Buffer.from(text, "base64url").toString())) as typeof token
  } catch {
    throw wrong("it was not made by this server")
  }
  const { v, rv, start } = token
  if (v !== "meta.k8s.io/v1") throw wrong(`server does not recognize this encoded version ${String(v)}`)
  if (typeof rv !== "number" || !Number.isInteger(rv) || rv === 0)
    throw wrong("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
  if (typeof start !== "string" || start === "") throw wrong("encoded start key empty (version meta.k8s.io/v1)")
  return { revision: rv, after: start.replace(/\u0000$/, "") }
}
