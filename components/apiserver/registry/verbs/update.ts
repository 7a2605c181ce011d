import { checkWrite } from "../check-write.ts"
import {
  ApiError,
  conflict,
  invalid,
  isAlreadyExists,
  MODIFIED,
  notFound,
} from "../../../../pkg/apimachinery/errors.ts"
import { invalidValue } from "../../../../pkg/apimachinery/validation/field-errors.ts"
import { isWithoutEffect } from "../../../../pkg/apimachinery/patch/apply/track.ts"
import type { KubeObject, Resource, SubresourceStrategy } from "../../../../pkg/apimachinery/resource.ts"
import { checkingUpdate } from "../../../../pkg/apimachinery/validation/validate.ts"
import type { Stored } from "../../../../pkg/storage/storage.ts"
import { storageKey, viewOf } from "../../cacher/view.ts"
import { authorize } from "../../authorization/authorize.ts"
import type { ApiRequest, ApiResult, ResourceAttributes } from "../../call/request.ts"
import { admissionAttributes } from "../admission-attributes.ts"
import { remaining, strategyContext, type RegistryContext } from "../context.ts"
import { createObject } from "./create.ts"
import { checkName, decodeBody, inNamespace } from "../decode.ts"
import { withGeneration } from "../generation.ts"
import { checkPrecondition } from "../stored-precondition.ts"
import { guaranteedUpdate, type Attempt } from "../guaranteed-update.ts"
import { recordUpdate } from "../managed-fields/managed-fields.ts"
import { pauseOf, stepsOf } from "../large-writes.ts"
import { withDistinctOwners } from "../owner-references.ts"
import { dryRunOf } from "../unstored.ts"
import { warnAbout } from "../warn-about.ts"
import { isPending, whenReady } from "../../call/maybe-promise.ts"

/**
 * PUT of an object or its status. Order of the steps: registry/generic/registry/store.go Update,
 * registry/rest/update.go upstream.
 */
export async function update(context: RegistryContext, request: ApiRequest): Promise<ApiResult> {
  const { resource } = request
  const pause = pauseOf(context, request)
  if (pause !== undefined) await pause()
  const stored = context.storage.get(storageKey(resource, request))
  // The stored object only saves decoding equal values again, which is not worth the call of a webhook.
  const known = stored && viewOf(resource).atOnce?.(stored).object
  const decoded = decodeBody(request, resource, known)
  const sent = withDistinctOwners(request, decoded)
  checkName(sent, request)
  return changeObject(
    context,
    request,
    (old) => (old === undefined ? sent : recordUpdate(context, request, sent, old.object)),
    resource.allowCreateOnUpdate === true && request.subresource === undefined,
  )
}

/** The object that admission sees: the object itself, or what a subresource shows instead, such as a Scale. */
export interface AdmissionView {
  show(object: KubeObject): KubeObject
  /** Returns `object` with the changes that admission made to the object it saw. */
  take(shown: KubeObject, object: KubeObject): KubeObject
}
const WHOLE: AdmissionView = { show: (object) => object, take: (shown) => shown }

/**
 * Changes an object, for PUT and PATCH alike: `change` returns the new object for the stored one, and is called again
 * when another write came first. A change without resourceVersion overwrites any state if the kind allows it.
 */
export async function changeObject(
  context: RegistryContext,
  request: ApiRequest,
  change: (old: Stored | undefined) => KubeObject | Promise<KubeObject>,
  mayCreate: boolean,
  view: AdmissionView = WHOLE,
): Promise<ApiResult> {
  const { resource, namespace, name = "" } = request
  let created: Stored | undefined
  const pause = pauseOf(context, request)
  if (pause !== undefined) await pause()
  const attempt = (current: Stored | undefined): Promise<Attempt> => {
    if (current === undefined && !mayCreate) throw notFound(resource, name)
    const write = (wanted: KubeObject) =>
      current === undefined ? attemptCreate(wanted) : attemptUpdate(context, request, wanted, current, view)
    return whenReady(change(current), write)
  }
  const attemptCreate = async (wanted: KubeObject): Promise<Attempt> => {
    const granted = authorize(context.authorizer, createAttributes(request))
    if (isPending(granted)) await granted
    const { uid } = wanted.metadata
    if (request.verb === "patch" && uid !== undefined && uid !== "")
      throw conflict(
        resource,
        name,
        `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      )
    checkPrecondition({ resource, namespace, dryRun: request.options.dryRun, name, wanted: uid, current: undefined })
    created = await createObject(context, { ...request, verb: "create" }, wanted)
    return { keep: created }
  }
  const outcome = guaranteedUpdate(context, request, attempt)
  // If two requests create the same object at once, the second one updates it.
  const { stored } = await (mayCreate
    ? outcome.catch((err: unknown) => {
        if (isAlreadyExists(err)) return guaranteedUpdate(context, request, attempt)
        throw err
      })
    : outcome)
  return { kind: "object", code: created === undefined ? 200 : 201, object: stored.object, stored }
}

/**
 * A user that creates an object by an update or an apply needs the right to create it too. Source:
 * endpoints/handlers/update.go withAuthorization.
 */
const createAttributes = ({
  user,
  resource: { group, version, plural },
  namespace,
  name,
}: ApiRequest): ResourceAttributes => ({ user, verb: "create", group, version, resource: plural, namespace, name })

async function attemptUpdate(
  context: RegistryContext,
  request: ApiRequest,
  wanted: KubeObject,
  current: Stored,
  view: AdmissionView,
): Promise<Attempt> {
  const { resource, name = "", subresource, options } = request
  const { admission } = context
  const hooks = context.hooks(resource)
  const old = current.object
  const pause = pauseOf(context, request)
  if (pause !== undefined) await pause()
  // A patch that changes the uid is invalid; an update with another uid means another object.
  if (request.verb === "update")
    checkPrecondition({
      resource,
      namespace: request.namespace,
      dryRun: request.options.dryRun,
      name,
      wanted: wanted.metadata.uid,
      current: old.metadata.uid,
    })
  const attributes = admissionAttributes(request, "UPDATE", view.show(wanted), view.show(old))
  const admitted = admission.admit(attributes)
  const shown = (isPending(admitted) ? await admitted : admitted) ?? attributes.object!
  let object = shown === attributes.object ? wanted : inNamespace(view.take(shown, wanted), request)
  if (request.verb === "patch") object = withDistinctOwners(request, object, " after mutating admission happens")
  object = atVersion(resource, name, object, old)
  object = prepare(context, request, object, old)
  const reservation =
    subresource !== undefined ? undefined : hooks?.allocateForUpdate?.(object, old, options.dryRun === true)
  try {
    if (reservation !== undefined) object = reservation.object
    if (pause !== undefined) await pause()
    const checking = stepsOf(context, request, checkingUpdate(resource, object, old, strategyOf(resource, subresource)))
    const causes = remaining(isPending(checking) ? await checking : checking, hooks)
    if (causes.length > 0) throw invalid(resource.storedAs ?? resource, name, causes)
    // A write through a subresource warns of nothing in the parts it cannot change.
    if (subresource === undefined) warnAbout(request, object, old)
    const mayWrite = checkWrite(context, hooks, request, object, old)
    if (isPending(mayWrite)) await mayWrite
    const last = { ...attributes, object: view.show(object) }
    const checked = admission.validate(last)
    if (isPending(checked)) await checked
    if (pause !== undefined) await pause()
    if (options.dryRun === true) {
      reservation?.settle(false)
      return { dryRun: await dryRunOf(resource, current.key, object) }
    }
    const settle = (written: boolean) => {
      reservation?.settle(written)
      admission.settled(last, written)
    }
    if (isGoneWith(context, resource, object, old)) return { remove: true, shown: object, settle }
    // Times of managedFields alone are no change.
    if (isWithoutEffect(old, object) && !isStoredInOtherVersion(context, resource, current)) {
      settle(false)
      return { keep: current }
    }
    return { write: context.sharing.changed(object, old), others: admission.alongside(last), settle }
  } catch (err) {
    reservation?.settle(false)
    throw err
  }
}

/** Whether a custom object is in a version in which its kind is not stored any more: a write changes that. */
const isStoredInOtherVersion = ({ storage }: RegistryContext, { definition, storedAs }: Resource, { key }: Stored) =>
  definition !== undefined &&
  storedAs !== undefined &&
  storage.get(key)?.object.apiVersion !== `${storedAs.group}/${storedAs.version}`

/** Refuses a change of something else than what is stored now. */
function atVersion(resource: Resource, name: string, object: KubeObject, old: KubeObject): KubeObject {
  const version = object.metadata.resourceVersion ?? ""
  if (version === "" || version === "0") {
    if (resource.allowUnconditionalUpdate === false)
      throw invalid({ group: resource.group, kind: resource.plural }, name, [
        invalidValue("metadata.resourceVersion", 0, "must be specified for an update"),
      ])
    return { ...object, metadata: { ...object.metadata, resourceVersion: old.metadata.resourceVersion } }
  }
  if (!/^\d+$/.test(version))
    throw new ApiError("Unknown", `strconv.ParseUint: parsing ${JSON.stringify(version)}: invalid syntax`)
  if (version !== old.metadata.resourceVersion) throw conflict(resource, name, MODIFIED)
  return object
}

/** Resets the fields that this request may not change, runs the kind's hook, and counts the generation. */
function prepare(context: RegistryContext, request: ApiRequest, wanted: KubeObject, old: KubeObject): KubeObject {
  const { resource, subresource } = request
  const strategy = strategyOf(resource, subresource)
  const metadata = withOldSystemFields(wanted, old)
  let object: KubeObject
  if (subresource === "status") object = { ...old, metadata, status: (wanted as WithStatus).status } as KubeObject
  else {
    object = metadata === wanted.metadata ? wanted : { ...wanted, metadata }
    const isKept = resource.subresources?.status !== undefined && strategy?.writesStatus !== true
    if (isKept && (wanted as WithStatus).status !== (old as WithStatus).status)
      object = { ...object, status: (old as WithStatus).status } as KubeObject
  }
  object = strategy?.prepareForUpdate?.(object, old, strategyContext(context, request)) ?? object
  if (subresource === "status") return object
  return withGeneration(resource, object, old)
}

/** Returns the rules for changes of an object or a subresource; undefined for a subresource without a strategy. */
export function strategyOf(
  resource: Resource,
  subresource: string | undefined,
): SubresourceStrategy<KubeObject> | undefined {
  if (subresource === undefined || subresource === "scale") return resource
  const { status, other } = resource.subresources ?? {}
  if (subresource !== "status") return other?.[subresource]?.strategy
  return status === true ? { validateUpdate: (object, old) => resource.validateUpdate?.(object, old) ?? [] } : status
}

interface WithStatus extends KubeObject {
  readonly status?: unknown
}

function withOldSystemFields({ metadata }: KubeObject, { metadata: old }: KubeObject): KubeObject["metadata"] {
  if (metadata.selfLink === undefined && SYSTEM_FIELDS.every((name) => metadata[name] === old[name])) return metadata
  const { selfLink: _link, ...kept } = metadata
  return {
    ...kept,
    uid: metadata.uid === undefined || metadata.uid === "" ? old.uid : metadata.uid,
    generation: old.generation,
    creationTimestamp: old.creationTimestamp,
    // An update does not end a deletion; that it does not begin one is checked with the rest.
    deletionTimestamp: old.deletionTimestamp ?? metadata.deletionTimestamp,
    deletionGracePeriodSeconds: metadata.deletionGracePeriodSeconds ?? old.deletionGracePeriodSeconds,
  }
}

const SYSTEM_FIELDS = [
  "uid",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const

/**
 * Whether an update removes the object: its deletion waited only for finalizers, and the last one is gone. Source:
 * store.go ShouldDeleteDuringUpdate.
 */
const isGoneWith = (
  context: RegistryContext,
  resource: Resource,
  object: KubeObject,
  { metadata: old }: KubeObject,
): boolean =>
  (object.metadata.finalizers ?? []).length === 0 &&
  old.deletionTimestamp !== undefined &&
  (old.deletionGracePeriodSeconds ?? 0) === 0 &&
  context.hooks(resource)?.holdsDeletion?.(object) !== true
