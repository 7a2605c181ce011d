import { badRequest, invalid } from "../../../pkg/apimachinery/errors.ts"
import { required } from "../../../pkg/apimachinery/validation/field-errors.ts"
import { applyConfiguration } from "../../../pkg/apimachinery/patch/apply/apply.ts"
import { managerOf, trackUpdate } from "../../../pkg/apimachinery/patch/apply/track.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import type { ApiRequest } from "../request.ts"
import type { RegistryContext } from "./context.ts"
import { inNamespace, warnOf } from "./decode.ts"

/**
 * Records in metadata.managedFields what a create (`old` undefined) or an update changes. This comes before admission,
 * so that fields set by admission have no manager. An apply has recorded its fields already.
 */
export function recordUpdate(
  { clock }: RegistryContext,
  request: ApiRequest,
  object: KubeObject,
  old: KubeObject | undefined,
): KubeObject {
  const { resource, subresource, options, userAgent, patch } = request
  if (patch?.type === "apply") return object
  return trackUpdate(resource, old, object, {
    manager: managerOf(options.fieldManager, userAgent),
    subresource,
    now: timestamp(clock),
  })
}

/**
 * Applies `body` to the stored object by server-side apply; without `old` it makes a new object.
 * @throws ApiError Conflict, BadRequest
 */
export function applyFields(
  { clock }: RegistryContext,
  request: ApiRequest,
  body: unknown,
  old: KubeObject | undefined,
): KubeObject {
  const {
    resource,
    subresource,
    bodyFaults = [],
    options: { fieldManager = "", force, fieldValidation },
  } = request
  if (fieldManager === "")
    throw invalid({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [
      required("fieldManager", "is required for apply patch"),
    ])
  const { object, faults } = applyConfiguration(resource, old, body, {
    manager: fieldManager,
    subresource,
    force,
    now: timestamp(clock),
  })
  if (fieldValidation === "Strict" && (bodyFaults.length > 0 || faults.length > 0))
    throw badRequest(
      "error strict decoding YAML: " +
        `${[...bodyFaults.map((fault) => `error converting YAML to JSON: ${fault}`), ...faults].join(", ")}`,
    )
  warnOf([...bodyFaults, ...faults], request)
  const named =
    object.metadata.name === undefined ? { ...object, metadata: { ...object.metadata, name: request.name } } : object
  if (named.metadata.name !== request.name)
    throw badRequest(
      `the name of the object (${named.metadata.name ?? ""}) does not match the name on the URL ` +
        `(${request.name ?? ""})`,
    )
  return inNamespace(named, request)
}
