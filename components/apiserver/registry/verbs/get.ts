import { notFound } from "../../../../pkg/apimachinery/errors.ts"
import type { Stored } from "../../../../pkg/storage/storage.ts"
import { checkNotFuture, versionOfRead } from "../../cacher/resource-version.ts"
import { storageKey, viewOf } from "../../cacher/view.ts"
import type { ApiRequest, ApiResult } from "../../call/request.ts"
import type { RegistryContext } from "../context.ts"
import { whenReady } from "../../call/maybe-promise.ts"

/**
 * GET of one object. The objects in memory are never behind the store's log, so they satisfy every resourceVersion that
 * exists.
 */
export function get(context: RegistryContext, request: ApiRequest): ApiResult | Promise<ApiResult> {
  const version = versionOfRead(request.options.resourceVersion)
  if (version !== undefined) checkNotFuture(version, context.storage.revision)
  const virtual = context.hooks(request.resource)?.listVirtual
  if (virtual !== undefined) {
    const object = virtual().find(({ metadata }) => metadata.name === request.name)
    // As upstream, which names the kind of these in the singular. Source: pkg/registry/core/componentstatus.
    if (object === undefined)
      throw notFound({ group: request.resource.group, plural: request.resource.singular }, request.name ?? "")
    return { kind: "object", code: 200, object }
  }
  return whenReady(getStored(context, request), answered)
}

const answered = (stored: Stored): ApiResult => ({ kind: "object", code: 200, object: stored.object, stored })

/** Returns the stored object that a request names. @throws ApiError NotFound */
export function getStored(
  { storage }: Pick<RegistryContext, "storage">,
  { resource, namespace, name }: Pick<ApiRequest, "resource" | "namespace" | "name">,
): Stored | Promise<Stored> {
  const stored = storage.get(storageKey(resource, { namespace, name }))
  if (stored === undefined) throw notFound(resource, name ?? "")
  return viewOf(resource).shownAnew(stored)
}
