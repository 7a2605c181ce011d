import { conflict, forbidden, invalid, notFound, type Status } from "../../../../pkg/apimachinery/errors.ts"
import { invalidValue, notSupported } from "../../../../pkg/apimachinery/validation/field-errors.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Stored } from "../../../../pkg/storage/storage.ts"
import type { ApiRequest, ApiResult, RequestOptions } from "../../call/request.ts"
import { aboutWhole, admissionAttributes } from "../admission-attributes.ts"
import type { RegistryContext } from "../context.ts"
import { unstored } from "../unstored.ts"
import { guaranteedUpdate, type Attempt } from "../guaranteed-update.ts"
import { isPending } from "../../call/maybe-promise.ts"

const ORPHAN = "orphan"
const FOREGROUND = "foregroundDeletion"

/**
 * DELETE of an object. The object is removed at once, or marked and removed later: after its grace period, or with its
 * last finalizer.
 */
export async function deleteOne(context: RegistryContext, request: ApiRequest): Promise<ApiResult> {
  const { resource, name = "", options } = request
  checkOptions(request)
  const refused = resource.refusesDeletion?.(name)
  if (refused !== undefined) throw forbidden(resource, name, refused)
  const { stored, removed } = await deleteObject(context, request)
  if (removed && resource.returnsDeletedObject !== true)
    return { kind: "status", code: 200, status: deletedStatus(resource, stored.object) }
  return {
    kind: "object",
    code: !removed && options.orphanDependents === false ? 202 : 200,
    object: stored.object,
    stored,
  }
}

interface DeletionOptions {
  /**
   * named: admission is told the name of the object. unnamed: the request names none, so it is told only the object.
   * none: another request has been admitted, of which this deletion is a part. named unless given.
   */
  readonly admission?: "named" | "unnamed" | "none"
}

/**
 * The order of the steps is upstream's: registry/generic/registry/store.go Delete, registry/rest/delete.go
 * BeforeDelete.
 */
export async function deleteObject(
  context: RegistryContext,
  request: ApiRequest,
  { admission = "named" }: DeletionOptions = {},
): Promise<{ readonly stored: Stored; readonly removed: boolean }> {
  const { resource, name = "", options } = request
  let pretendedRemoval = false
  const outcome = await guaranteedUpdate(context, request, async (current): Promise<Attempt> => {
    if (current === undefined) throw notFound(resource, name)
    const old = current.object
    checkPreconditions(resource, name, old, options)
    const grace = graceOf(context, resource, old, options)
    if (grace === "pending") return { keep: current }
    if (admission !== "none") {
      const named = admission === "named" ? name : ""
      const graceful =
        grace === "none" ? request : { ...request, options: { ...options, gracePeriodSeconds: grace.seconds } }
      const attributes = admissionAttributes(aboutWhole(graceful), "DELETE", undefined, old, named)
      const admitted = context.admission.admit(attributes)
      if (isPending(admitted)) await admitted
      const checked = context.admission.validate(attributes)
      if (isPending(checked)) await checked
    }
    const next = afterDeletion(context, resource, old, { options, grace })
    if (next === "unchanged") return { keep: current }
    const { object: marked, goes } = next
    if (options.dryRun === true) {
      pretendedRemoval = goes
      return { dryRun: marked === old ? current : unstored(current.key, marked) }
    }
    if (!goes) return { write: marked }
    return marked === old ? { remove: true } : { remove: true, marked }
  })
  return { stored: outcome.stored, removed: outcome.removed || pretendedRemoval }
}

const NONE: readonly string[] = []

interface Deletion {
  /** The object as the deletion marks it; the unchanged object where it is removed without a mark. */
  readonly object: KubeObject
  readonly goes: boolean
}

/** Returns what a deletion does to an object now. */
function afterDeletion(
  context: RegistryContext,
  resource: Resource,
  object: KubeObject,
  { options, grace }: { readonly options: RequestOptions; readonly grace: Exclude<Grace, "pending"> },
): Deletion | "unchanged" {
  const hooks = context.hooks(resource)
  const { metadata } = object
  const finalizers = finalizersFor(resource, metadata.finalizers ?? NONE, options)
  const held = finalizers.length > 0 || hooks?.holdsDeletion?.(object) === true
  if (grace === "none" && !held) return { object, goes: true }
  const { seconds, at } =
    grace === "none" ? { seconds: 0, at: metadata.deletionTimestamp ?? instant(context.clock.now()) } : grace
  const first = metadata.deletionTimestamp === undefined
  const sameFinalizers = finalizers === (metadata.finalizers ?? NONE)
  if (!first && grace === "none" && (metadata.deletionGracePeriodSeconds ?? 0) === 0 && sameFinalizers)
    return "unchanged"
  const marked: KubeObject = {
    ...object,
    metadata: {
      ...metadata,
      deletionTimestamp: at,
      deletionGracePeriodSeconds: seconds,
      ...(finalizers.length > 0 ? { finalizers } : { finalizers: undefined }),
      // Controllers treat a deleted object differently, so those that observe the generation must see a new one.
      ...(first && (metadata.generation ?? 0) > 0 ? { generation: metadata.generation! + 1 } : {}),
    },
  }
  return { object: hooks?.markDeleting?.(marked) ?? marked, goes: seconds === 0 && !held }
}

/**
 * The state of a graceful deletion. "none": the kind has no grace period, or it has passed. "pending": a deletion is in
 * progress and this one does not shorten it.
 */
type Grace = "none" | "pending" | { readonly seconds: number; readonly at: string }

/** Returns how a deletion would be graceful; admission is told the time, and is not asked about a pending one. */
function graceOf(context: RegistryContext, resource: Resource, object: KubeObject, options: RequestOptions): Grace {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = object.metadata
  if (resource.gracefulDeletion === undefined) return "none"
  // Upstream reads negative values as one second.
  const requested =
    options.gracePeriodSeconds !== undefined && options.gracePeriodSeconds < 0 ? 1 : options.gracePeriodSeconds
  const now = context.clock.now()
  if (deletionTimestamp !== undefined) {
    if (deletionGracePeriodSeconds === 0) return "none"
    if (requested === undefined || requested >= deletionGracePeriodSeconds) return "pending"
    const end = Date.parse(deletionTimestamp) + (requested - deletionGracePeriodSeconds) * 1000
    // If the whole time has passed already, the kubelet still gets a moment.
    if (end < now) return { seconds: Math.min(requested, 1), at: instant(now) }
    return { seconds: requested, at: instant(end) }
  }
  const seconds = resource.gracefulDeletion(object, requested)
  return seconds === undefined ? "none" : { seconds, at: instant(now + seconds * 1000) }
}

const instant = (ms: number): string => new Date(ms).toISOString().slice(0, 19) + "Z"

/**
 * Returns the object's finalizers, with those that make the garbage collector handle dependents before the object goes.
 * Source: store.go deletionFinalizersForGarbageCollection.
 */
function finalizersFor(
  { defaultGarbageCollectionPolicy }: Resource,
  finalizers: readonly string[],
  options: RequestOptions,
): readonly string[] {
  const others = finalizers.filter((name) => name !== ORPHAN && name !== FOREGROUND)
  // The garbage collector ignores such objects, which would wait for ever.
  if (defaultGarbageCollectionPolicy === "Unsupported") return others
  const asked =
    policyOf(options) ??
    finalizers.map((name) => POLICY_OF[name]).find((policy) => policy !== undefined) ??
    (defaultGarbageCollectionPolicy === "OrphanDependents" ? "Orphan" : "Background")
  const wanted = asked === "Background" ? others : [...others, asked === "Orphan" ? ORPHAN : FOREGROUND]
  const isSame = wanted.length === finalizers.length && new Set(finalizers).isSupersetOf(new Set(wanted))
  return isSame ? finalizers : wanted
}
const POLICY_OF: Readonly<Record<string, RequestOptions["propagationPolicy"]>> = {
  [ORPHAN]: "Orphan",
  [FOREGROUND]: "Foreground",
}

/** Returns the propagation policy of a deletion; undefined when it names none. */
const policyOf = ({ propagationPolicy, orphanDependents }: RequestOptions): RequestOptions["propagationPolicy"] =>
  orphanDependents === undefined ? propagationPolicy : orphanDependents ? "Orphan" : "Background"

/**
 * Refuses contradicting options, and warns about a surprising default. Source: apimachinery pkg/apis/meta/v1/validation
 * ValidateDeleteOptions.
 */
export function checkOptions({ resource, options, warn }: ApiRequest): void {
  const { group, defaultPolicyWarning } = resource
  const { propagationPolicy, orphanDependents } = options
  if (defaultPolicyWarning !== undefined && policyOf(options) === undefined) warn(defaultPolicyWarning)
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

/**
 * @throws ApiError Conflict when the object does not meet the preconditions. Its message names the kind, where other
 * messages name the resource.
 */
export function checkPreconditions(
  resource: Resource,
  name: string,
  { metadata }: KubeObject,
  { preconditions }: RequestOptions,
): void {
  const { uid, resourceVersion } = preconditions ?? {}
  if (resource.upstreamChecks?.ownPreconditions === true)
    return checkOwnPreconditions(resource, name, metadata, { uid, resourceVersion })
  const kind = { group: resource.storedAs?.group ?? resource.group, plural: resource.kind }
  if (uid !== undefined && uid !== metadata.uid)
    throw conflict(
      kind,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid ?? ""}). The ` +
        "object might have been deleted and then recreated",
    )
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)
    throw conflict(
      kind,
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in ` +
        `record (${metadata.resourceVersion ?? ""}). The object might have been modified`,
    )
}

/** Source: pkg/registry/core/namespace/storage/storage.go Delete, which the storage of definitions repeats. */
function checkOwnPreconditions(
  resource: Resource,
  name: string,
  metadata: KubeObject["metadata"],
  wanted: { readonly uid: string | undefined; readonly resourceVersion: string | undefined },
): void {
  for (const [field, shown] of [
    ["uid", "UID"],
    ["resourceVersion", "ResourceVersion"],
  ] as const)
    if (wanted[field] !== undefined && wanted[field] !== metadata[field])
      throw conflict(
        resource,
        name,
        `Precondition failed: ${shown} in precondition: ${wanted[field]}, ${shown} in object meta: ${metadata[field] ?? ""}`,
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
