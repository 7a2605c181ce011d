import { checkWrite } from "../check-write.ts"
import { alreadyExists, ApiError, invalid, isAlreadyExists } from "../../../../pkg/apimachinery/errors.ts"
import type { ObjectMeta } from "../../../../pkg/apimachinery/meta.ts"
import { timestamp } from "../../../../pkg/clock/clock.ts"
import { nameSuffix, uuid } from "../../../../pkg/clock/random.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { checkingObject } from "../../../../pkg/apimachinery/validation/validate.ts"
import type { Stored } from "../../../../pkg/storage/storage.ts"
import type { AdmissionAttributes } from "../../admission/admission.ts"
import { storageKey, viewOf } from "../../cacher/view.ts"
import type { ApiRequest, ApiResult } from "../../call/request.ts"
import { aboutWhole, admissionAttributes } from "../admission-attributes.ts"
import { remaining, strategyContext, type RegistryContext } from "../context.ts"
import { decodeBody, emptyStatus, inNamespace } from "../decode.ts"
import { apiErrorFrom } from "../errors.ts"
import { firstGeneration } from "../generation.ts"
import { recordCreate } from "../managed-fields/managed-fields.ts"
import { pauseOf, stepsOf } from "../large-writes.ts"
import { withDistinctOwners } from "../owner-references.ts"
import { persistObject } from "../persist-object.ts"
import { dryRunOf } from "../unstored.ts"
import { warnAbout } from "../warn-about.ts"
import { CompanionTakenError, together } from "../write-along.ts"
import { isPending } from "../../call/maybe-promise.ts"

/**
 * Most attempts to create an object with a generated name; each has a new random suffix. Source:
 * registry/generic/registry/store.go maxNameGenerationCreateAttempts.
 */
const NAME_ATTEMPTS = 8
/**
 * Most attempts to create an object for which other servers take what was allocated. Of three servers that count one
 * quota at the same time, one gets on at each attempt.
 */
const ALLOCATION_ATTEMPTS = 32

/** POST of an object. The order of the steps is upstream's: endpoints/handlers/create.go, registry/rest/create.go. */
export async function create(context: RegistryContext, request: ApiRequest): Promise<ApiResult> {
  const { resource } = request
  const pause = pauseOf(context, request)
  if (pause !== undefined) await pause()
  const sent = withDistinctOwners(request, decodeBody(request))
  const virtual = context.hooks(resource)?.createVirtual
  if (virtual !== undefined) {
    const object = await recordCreate(context, request, without(SYSTEM_FIELDS, sent))
    return { kind: "object", code: 201, object: await virtual(request, object) }
  }
  const stored = await createSent(context, request, sent)
  return { kind: "object", code: 201, object: stored.object, stored }
}

/** Whether a text is a resourceVersion of the store; other texts are ignored. */
const isVersion = (version: string | undefined): boolean => version !== undefined && /^0*[1-9]\d*$/.test(version)

/** Creates an object that an update or apply has not found, whatever resourceVersion it names. */
export const createObject = (context: RegistryContext, request: ApiRequest, sent: KubeObject): Promise<Stored> =>
  createSent(context, request, without(["resourceVersion"], sent))

/**
 * Creates an object; where a generated name is taken, with another name, and where another server has taken what was
 * allocated for the object, with other allocations.
 */
function createSent(
  context: RegistryContext,
  request: ApiRequest,
  sent: KubeObject,
  names = 1,
  allocations = 1,
): Promise<Stored> {
  return createOnce(context, request, sent).catch((err: unknown) => {
    if (err instanceof CompanionTakenError) {
      if (allocations < ALLOCATION_ATTEMPTS) return createSent(context, request, sent, names, allocations + 1)
      throw new ApiError("ServiceUnavailable", err.message, { retryAfterSeconds: 1 }, { cause: err })
    }
    const isGenerated = (sent.metadata.name ?? "") === "" && (sent.metadata.generateName ?? "") !== ""
    if (!isGenerated || !isAlreadyExists(err)) throw err
    if (names < NAME_ATTEMPTS) return createSent(context, request, sent, names + 1, allocations)
    throw new ApiError(
      "AlreadyExists",
      `${err.message}, the server was not able to generate a unique name for the object`,
      { ...err.details, retryAfterSeconds: 1 },
    )
  })
}

async function createOnce(context: RegistryContext, request: ApiRequest, sent: KubeObject): Promise<Stored> {
  const { resource, options } = request
  const { admission, storage } = context
  const hooks = context.hooks(resource)
  const pause = pauseOf(context, request)
  if (pause !== undefined) await pause()
  const recorded = recordCreate(context, request, without(UNSTORED_FIELDS, sent))
  let object = isPending(recorded) ? await recorded : recorded
  if (pause !== undefined) await pause()
  const attributes = admissionAttributes(aboutWhole(request), "CREATE", object, undefined, object.metadata.name ?? "")
  const admitted = admission.admit(attributes)
  const left = isPending(admitted) ? await admitted : admitted
  // Admission must not move the object to another namespace.
  if (left !== undefined && left !== object) object = inNamespace(left, request)
  object = prepare(context, request, withSystemFields(context, object))
  // A dry run allocates too, to show the result or the refusal.
  const reservation = hooks?.allocateForCreate?.(object, options.dryRun === true)
  let settledAttributes: AdmissionAttributes | undefined
  let written = false
  try {
    if (reservation !== undefined) object = reservation.object
    if (pause !== undefined) await pause()
    const checking = stepsOf(context, request, checkingObject(resource, object))
    const causes = remaining(isPending(checking) ? await checking : checking, hooks)
    if (causes.length > 0) throw invalid(resource.storedAs ?? resource, object.metadata.name ?? "", causes)
    warnAbout(request, object, undefined)
    const mayWrite = checkWrite(context, hooks, request, object, undefined)
    if (isPending(mayWrite)) await mayWrite
    settledAttributes = { ...attributes, name: object.metadata.name!, object }
    const checked = admission.validate(settledAttributes)
    if (isPending(checked)) await checked
    if (pause !== undefined) await pause()
    const stored = await store(object)
    written = options.dryRun !== true
    return stored
  } finally {
    reservation?.settle(written)
    if (settledAttributes !== undefined) admission.settled(settledAttributes, written)
  }

  async function store(object: KubeObject): Promise<Stored> {
    const key = storageKey(resource, object.metadata)
    try {
      if (options.dryRun === true) {
        if (storage.get(key) !== undefined) throw alreadyExists(resource, object.metadata.name!)
        return await dryRunOf(resource, key, object)
      }
      // The store's own check, after all others: admission and validation say first what they refuse. Source:
      // etcd3/store.go Create, which a dry run does not reach.
      if (isVersion(sent.metadata.resourceVersion))
        throw new ApiError("Unknown", "resourceVersion should not be set on objects to be created")
      context.checkRunning()
      const stored = await persistObject(context, request, {
        key,
        object: context.sharing.shared(resource, object),
        expected: 0,
        along: (shown) => together(hooks?.alongside?.(shown, undefined), admission.alongside(settledAttributes!)),
      })
      const shown = viewOf(resource).shown(stored)
      return await shown
    } catch (err) {
      if (err instanceof CompanionTakenError) throw err
      const error = apiErrorFrom(err, resource, object.metadata.name!)
      if (error.reason === "AlreadyExists" && storage.get(key)?.object.metadata.deletionTimestamp !== undefined)
        throw new ApiError(error.reason, `object is being deleted: ${error.message}`, error.details)
      throw error
    }
  }
}

/**
 * Sets the generated name, uid and creationTimestamp, after admission has changed the object. Source:
 * registry/rest/meta.go FillObjectMetaSystemFields, create.go BeforeCreate.
 */
function withSystemFields({ clock, random }: RegistryContext, object: KubeObject): KubeObject {
  const { metadata } = object
  const { name = "", generateName = "" } = metadata
  const made = name === "" && generateName !== "" ? generatedName(generateName, nameSuffix(random)) : metadata.name
  return { ...object, metadata: { ...metadata, name: made, uid: uuid(random), creationTimestamp: timestamp(clock) } }
}

/** Removes fields of the metadata. Usually none was sent, and nothing is copied. */
function without(fields: readonly (keyof ObjectMeta)[], object: KubeObject): KubeObject {
  const { metadata } = object
  if (fields.every((field) => metadata[field] === undefined)) return object
  const kept: { -readonly [K in keyof ObjectMeta]: ObjectMeta[K] } = { ...metadata }
  for (const field of fields) delete kept[field]
  return { ...object, metadata: kept }
}

/** The metadata that only the server sets. Source: registry/rest/meta.go WipeObjectMetaSystemFields. */
const SYSTEM_FIELDS = [
  "uid",
  "creationTimestamp",
  "selfLink",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const
/** A resource version is the store's to check, and is not part of what is stored. */
const UNSTORED_FIELDS = [...SYSTEM_FIELDS, "resourceVersion"] as const

/** Generates a name of at most 63 characters, the suffix included. Source: apiserver pkg/storage/names/generate.go. */
const generatedName = (prefix: string, suffix: string): string => prefix.slice(0, 63 - suffix.length) + suffix

/** Clears the status, sets the first generation and runs the kind's `prepareForCreate`. */
function prepare(context: RegistryContext, request: ApiRequest, sent: KubeObject): KubeObject {
  const { resource } = request
  let object = sent
  if (resource.subresources?.status !== undefined && resource.keepsStatusOnCreate !== true)
    object = { ...object, status: emptyStatus(resource) } as KubeObject
  if (resource.generation !== undefined)
    object = { ...object, metadata: { ...object.metadata, ...firstGeneration(resource) } }
  return resource.prepareForCreate?.(object, strategyContext(context, request)) ?? object
}
