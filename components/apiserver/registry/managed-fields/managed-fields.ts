import { badRequest, invalid } from "../../../../pkg/apimachinery/errors.ts"
import { required } from "../../../../pkg/apimachinery/validation/field-errors.ts"
import type { Decoded } from "../../../../pkg/apimachinery/decoding/decode.ts"
import { applyConfigurationIn } from "../../../../pkg/apimachinery/patch/apply/apply.ts"
import { addedFieldsExceed, fieldsExceed } from "../../../../pkg/apimachinery/patch/apply/least-size.ts"
import { entriesFrom } from "../../../../pkg/apimachinery/patch/apply/managers.ts"
import { managerOf, tracking, withEntries, type ChangedBy } from "../../../../pkg/apimachinery/patch/apply/track.ts"
import { trackUpdateIn } from "../../../../pkg/apimachinery/patch/apply/track-versions.ts"
import { run } from "../../../../pkg/apimachinery/patch/apply/versions.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { timestamp } from "../../../../pkg/clock/clock.ts"
import type { ApiRequest } from "../../call/request.ts"
import type { RegistryContext } from "../context.ts"
import { MOST_BYTES } from "../object-size.ts"
import { inNamespace, warnOf } from "../decode.ts"
import { pauseOf } from "../large-writes.ts"
import { versionsOf } from "./field-versions.ts"
import { whenReady } from "../../call/maybe-promise.ts"

/**
 * Records in metadata.managedFields what a create sets. This comes before admission, so that fields set by admission
 * have no manager. An apply has recorded its fields already. Fields that make an object too large are not recorded: see
 * `writeWithinSize`.
 */
export const recordCreate = (
  context: RegistryContext,
  request: ApiRequest,
  object: KubeObject,
): KubeObject | Promise<KubeObject> =>
  request.patch?.type === "apply" || (request.isLarge === true && fieldsExceed(request.resource, object, MOST_BYTES))
    ? object
    : request.restores === true
      ? restored(object, undefined)
      : run(
          tracking(request.resource, undefined, object, changedBy(context, request)),
          () => undefined,
          pauseOf(context, request),
        )

/** Records what an update changes, as `recordCreate`; a promise where a webhook converts for other managers. */
export function recordUpdate(
  context: RegistryContext,
  request: ApiRequest,
  object: KubeObject,
  old: KubeObject,
): KubeObject | Promise<KubeObject> {
  const { resource, subresource } = request
  if (request.restores === true) return restored(object, old)
  if (request.isLarge === true && addedFieldsExceed(resource, old, object, { subresource, most: MOST_BYTES }))
    return withEntries(object, undefined)
  const by = changedBy(context, request)
  return trackUpdateIn(resource, old, object, by, versionsOf(resource), pauseOf(context, request))
}

/** Returns an object with the managers that it names; with those of before if they are malformed. */
const restored = (object: KubeObject, old: KubeObject | undefined): KubeObject =>
  withEntries(object, entriesFrom(object.metadata.managedFields) ?? entriesFrom(old?.metadata.managedFields))

const changedBy = ({ clock }: RegistryContext, { options, userAgent, subresource }: ApiRequest): ChangedBy => ({
  manager: managerOf(options.fieldManager, userAgent),
  subresource,
  now: timestamp(clock),
})

/**
 * Applies `body` to the stored object by server-side apply; without `old` it makes a new object.
 * @throws ApiError Conflict, BadRequest
 */
export function applyFields(
  context: RegistryContext,
  request: ApiRequest,
  body: unknown,
  old: KubeObject | undefined,
): KubeObject | Promise<KubeObject> {
  const {
    resource,
    subresource,
    options: { fieldManager = "", force },
  } = request
  if (fieldManager === "")
    throw invalid({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [
      required("fieldManager", "is required for apply patch"),
    ])
  const most = request.isLarge === true ? MOST_BYTES : undefined
  const by = { manager: fieldManager, subresource, force, now: timestamp(context.clock), most }
  const applied = applyConfigurationIn(resource, old, body, by, versionsOf(resource), pauseOf(context, request))
  return whenReady(applied, (done) => taken(request, done))
}

/** Returns an applied object, in the namespace of the request, whose name it must have. @throws ApiError for its faults */
function taken(request: ApiRequest, { object, faults }: Decoded<KubeObject>): KubeObject {
  const {
    bodyFaults = [],
    options: { fieldValidation },
  } = request
  if (fieldValidation === "Strict" && (bodyFaults.length > 0 || faults.length > 0))
    throw badRequest(
      "error strict decoding YAML: " +
        `${[...bodyFaults.map((fault) => `error converting YAML to JSON: ${fault}`), ...faults].join(", ")}`,
    )
  warnOf([...bodyFaults, ...faults], request)
  const { name = "" } = object.metadata
  if (name === "")
    throw badRequest(
      `the name of the object (${request.name ?? ""} based on URL) was undeterminable: name must be provided`,
    )
  if (name !== request.name)
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${request.name ?? ""})`)
  return inNamespace(object, request)
}
