import { conflict, invalid, notFound, type Status } from "../../../pkg/apimachinery/errors.ts"
import { invalidValue, notSupported } from "../../../pkg/apimachinery/field-errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Stored } from "../../../pkg/storage/storage.ts"
import type { ApiRequest, ApiResult, RequestOptions } from "../request.ts"
import { aboutWhole, admissionAttributes } from "./admission-attributes.ts"
import type { RegistryContext } from "./context.ts"
import { unstored } from "./create.ts"
import { guaranteedUpdate, type Attempt } from "./guaranteed-update.ts"

const ORPHAN = "orphan"
const FOREGROUND = "foregroundDeletion"

/** DELETE of an object. It goes at once, or is marked and goes later: when its grace period is over, when its last finalizer is taken away. */
export async function deleteOne(context: RegistryContext, request: ApiRequest): Promise<ApiResult> {
  const { resource, options } = request
  checkOptions(resource, options)
  const { stored, removed } = await deleteObject(context, request)
  if (removed && context.hooks(resource)?.returnsDeleted !== true)
    return { kind: "status", code: 200, status: deletedStatus(resource, stored.object) }
  return {
    kind: "object",
    code: !removed && options.orphanDependents === false ? 202 : 200,
    object: stored.object,
    stored,
  }
}

/** Order of the steps: registry/generic/registry/store.go Delete, registry/rest/delete.go BeforeDelete upstream. */
export async function deleteObject(
  context: RegistryContext,
  request: ApiRequest,
): Promise<{ readonly stored: Stored; readonly removed: boolean }> {
  const { resource, name = "", options } = request
  let pretendedRemoval = false
  const outcome = await guaranteedUpdate(context, request, async (current): Promise<Attempt> => {
    if (current === undefined) throw notFound(resource, name)
    const old = current.object
    checkPreconditions(resource, name, old, options)
    const attributes = admissionAttributes(aboutWhole(request), "DELETE", undefined, old)
    const admitted = context.admission.admit(attributes)
    if (admitted instanceof Promise) await admitted
    const checked = context.admission.validate(attributes)
    if (checked instanceof Promise) await checked
    const next = afterDeletion(context, resource, old, options)
    if (options.dryRun === true) {
      pretendedRemoval = next === "removed"
      return { pretend: typeof next === "string" ? current : unstored(current.key, next) }
    }
    if (next === "removed") return { remove: true }
    return next === "unchanged" ? { keep: current } : { write: next }
  })
  return { stored: outcome.stored, removed: outcome.removed || pretendedRemoval }
}

/** What a deletion makes of an object now. */
function afterDeletion(
  context: RegistryContext,
  resource: Resource,
  object: KubeObject,
  options: RequestOptions,
): KubeObject | "removed" | "unchanged" {
  const hooks = context.hooks(resource)
  const { metadata } = object
  const graceful = gracefully(context, resource, object, options)
  if (graceful === "pending") return "unchanged"
  const finalizers = finalizersFor(resource, metadata.finalizers ?? [], options)
  const held = finalizers.length > 0 || hooks?.holdsDeletion?.(object) === true
  if (graceful === "now" && !held) return "removed"
  if (graceful !== "now" && graceful.seconds === 0 && !held) return "removed"
  const timing =
    graceful === "now" ? { seconds: 0, at: metadata.deletionTimestamp ?? instant(context.clock.now()) } : graceful
  const first = metadata.deletionTimestamp === undefined
  const unchangedFinalizers =
    finalizers.length === (metadata.finalizers ?? []).length &&
    finalizers.every((name) => metadata.finalizers!.includes(name))
  if (!first && graceful === "now" && (metadata.deletionGracePeriodSeconds ?? 0) === 0 && unchangedFinalizers)
    return "unchanged"
  const marked: KubeObject = {
    ...object,
    metadata: {
      ...metadata,
      deletionTimestamp: timing.at,
      deletionGracePeriodSeconds: timing.seconds,
      ...(finalizers.length > 0 ? { finalizers } : { finalizers: undefined }),
      // Controllers behave differently from now on, so whoever observes generations must see a new one.
      ...(first && (metadata.generation ?? 0) > 0 ? { generation: metadata.generation! + 1 } : {}),
    },
  }
  return hooks?.markDeleting?.(marked) ?? marked
}

/** "now": no grace. "pending": a graceful deletion is under way and this one does not shorten it. */
function gracefully(
  context: RegistryContext,
  resource: Resource,
  object: KubeObject,
  options: RequestOptions,
): "now" | "pending" | { readonly seconds: number; readonly at: string } {
  const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata
  if (resource.gracefulDeletion === undefined) return "now"
  // Negative values stand for one second, as upstream reads them.
  const requested =
    options.gracePeriodSeconds !== undefined && options.gracePeriodSeconds < 0 ? 1 : options.gracePeriodSeconds
  if (deletionTimestamp !== undefined) {
    if (deletionGracePeriodSeconds === undefined) return "now"
    if (requested === undefined || requested >= deletionGracePeriodSeconds) return "pending"
    return {
      seconds: requested,
      at: instant(Date.parse(deletionTimestamp) + (requested - deletionGracePeriodSeconds) * 1000),
    }
  }
  const seconds = resource.gracefulDeletion(object, requested)
  return seconds === undefined ? "now" : { seconds, at: instant(context.clock.now() + seconds * 1000) }
}

const instant = (ms: number): string => new Date(ms).toISOString().slice(0, 19) + "Z"

/**
 * Finalizers that have the garbage collector deal with dependents first. What lives for a time only is none of its business and would wait for it for ever.
 * Source: store.go deletionFinalizersForGarbageCollection; events have the policy rest.Unsupported.
 */
function finalizersFor(
  { ttlSeconds }: Resource,
  finalizers: readonly string[],
  { propagationPolicy, orphanDependents }: RequestOptions,
): readonly string[] {
  if (ttlSeconds !== undefined) return finalizers.filter((name) => name !== ORPHAN && name !== FOREGROUND)
  const had = (name: string) => finalizers.includes(name)
  const orphan = orphanDependents ?? (propagationPolicy === undefined ? had(ORPHAN) : propagationPolicy === "Orphan")
  const foreground =
    orphanDependents !== undefined
      ? false
      : propagationPolicy === undefined
        ? had(FOREGROUND) && !orphan
        : propagationPolicy === "Foreground"
  const others = finalizers.filter((name) => name !== ORPHAN && name !== FOREGROUND)
  return [...others, ...(orphan ? [ORPHAN] : []), ...(foreground ? [FOREGROUND] : [])]
}

/** Source: apimachinery pkg/apis/meta/v1/validation ValidateDeleteOptions. */
export function checkOptions({ group }: Resource, { propagationPolicy, orphanDependents }: RequestOptions): void {
  const kind = { group: group === "" ? "meta.k8s.io" : group, kind: "DeleteOptions" }
  if (propagationPolicy === undefined) return
  if (!["Orphan", "Background", "Foreground"].includes(propagationPolicy))
    throw invalid(kind, "", [
      notSupported("propagationPolicy", propagationPolicy, ["Foreground", "Background", "Orphan", "nil"]),
    ])
  if (orphanDependents !== undefined)
    throw invalid(kind, "", [
      invalidValue(
        "propagationPolicy",
        propagationPolicy,
        "orphanDependents and deletionPropagation cannot be both set",
      ),
    ])
}

/** @throws ApiError Conflict when the object is another than the request is for */
export function checkPreconditions(
  resource: Resource,
  name: string,
  { metadata }: KubeObject,
  { preconditions }: RequestOptions,
): void {
  const { uid, resourceVersion } = preconditions ?? {}
  if (uid !== undefined && uid !== metadata.uid)
    throw conflict(
      resource,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid ?? ""}). The object might have been deleted and then recreated`,
    )
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)
    throw conflict(
      resource,
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion ?? ""}). The object might have been modified`,
    )
}

const deletedStatus = ({ group, plural }: Resource, { metadata }: KubeObject): Status => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Success",
  details: {
    name: metadata.name ?? "",
    ...(group === "" ? {} : { group }),
    kind: plural,
    ...(metadata.uid === undefined ? {} : { uid: metadata.uid }),
  },
})
