import { isNamespaceResource } from "../../../../pkg/api/core/v1/namespace.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { AdmissionAttributes } from "../admission.ts"
import { parseJson } from "../../codec/json.ts"
import type { AdmissionReview, GroupVersionKind, ReviewVersion } from "../../webhooks/review.ts"

/** The response of a webhook after it was checked. */
export interface AdmissionResponse {
  readonly allowed: boolean
  /** JSON Patch operations; empty when the object is not to be changed. */
  readonly patch: readonly unknown[]
  readonly warnings: readonly string[]
  readonly auditAnnotations: Readonly<Record<string, string>>
  /** The Status of a refusal as the webhook sent it. */
  readonly result: Readonly<Record<string, unknown>> | undefined
}

/** Returns the first version in the webhook's list that this server supports; undefined when there is none. */
export function reviewVersion(versions: readonly string[]): ReviewVersion | undefined {
  for (const version of versions) if (version === "v1" || version === "v1beta1") return `admission.k8s.io/${version}`
  return undefined
}

/** The objects of a request, converted to the version that the webhook matched. */
export interface ReviewedObjects {
  readonly resource: Resource
  readonly object: KubeObject | undefined
  readonly old: KubeObject | undefined
}

export function admissionReview(
  apiVersion: ReviewVersion,
  uid: string,
  attributes: AdmissionAttributes,
  { resource, object, old }: ReviewedObjects,
): AdmissionReview {
  const { user, subresource, name, operation, options } = attributes
  const isNamespace = isNamespaceResource(attributes.resource)
  const namespace = isNamespace ? name : attributes.namespace
  return {
    kind: "AdmissionReview",
    apiVersion,
    request: {
      uid,
      kind: kindOf(resource, object ?? old),
      resource: { group: resource.group, version: resource.version, resource: resource.plural },
      ...(subresource === undefined ? {} : { subResource: subresource }),
      requestKind: kindOf(attributes.resource, attributes.object ?? attributes.old),
      requestResource: {
        group: attributes.resource.group,
        version: attributes.resource.version,
        resource: attributes.resource.plural,
      },
      ...(subresource === undefined ? {} : { requestSubResource: subresource }),
      ...(name === "" ? {} : { name }),
      ...((namespace ?? "") === "" ? {} : { namespace: namespace! }),
      operation,
      userInfo: {
        username: user.name,
        ...(user.uid === undefined ? {} : { uid: user.uid }),
        ...(user.groups.length === 0 ? {} : { groups: user.groups }),
        ...(user.extra === undefined || Object.keys(user.extra).length === 0 ? {} : { extra: user.extra }),
      },
      object: object ?? null,
      oldObject: old ?? null,
      dryRun: options.dryRun === true,
      options: operationOptions(attributes),
    },
  }
}

function kindOf(resource: Resource, object: KubeObject | undefined): GroupVersionKind {
  if (object === undefined) return { group: resource.group, version: resource.version, kind: resource.kind }
  const slash = object.apiVersion.indexOf("/")
  return {
    group: slash < 0 ? "" : object.apiVersion.slice(0, slash),
    version: object.apiVersion.slice(slash + 1),
    kind: object.kind,
  }
}

const OPTIONS_KINDS = { CREATE: "CreateOptions", UPDATE: "UpdateOptions", DELETE: "DeleteOptions" } as const

/** Returns the options of the request as an object of meta.k8s.io/v1. */
function operationOptions({ operation, options }: AdmissionAttributes): unknown {
  if (operation === "CONNECT") return null
  const { dryRun, fieldManager, fieldValidation, gracePeriodSeconds, propagationPolicy } = options
  const { orphanDependents, preconditions } = options
  const own =
    operation === "DELETE"
      ? { gracePeriodSeconds, preconditions, orphanDependents, propagationPolicy }
      : { fieldManager, fieldValidation }
  return {
    kind: OPTIONS_KINDS[operation],
    apiVersion: "meta.k8s.io/v1",
    ...(dryRun === true ? { dryRun: ["All"] } : {}),
    // An expression must not find an option that was not given.
    ...Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined)),
  }
}

/**
 * Checks and decodes the response of a webhook.
 * @throws Error with upstream's message when it is not a valid response to this review. Source:
 * VerifyAdmissionResponse.
 */
export function readResponse(
  answer: unknown,
  { apiVersion, request: { uid } }: AdmissionReview,
  mayChange: boolean,
): AdmissionResponse {
  const review = asRecord(answer)
  const response = asRecord(review?.["response"])
  if (response === undefined) throw new Error("webhook response was absent")
  const isStrict = apiVersion === "admission.k8s.io/v1"
  if (isStrict) {
    const sentUid = text(response["uid"])
    if (sentUid !== uid) throw new Error(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(sentUid)}`)
    const sent = `${text(review!["apiVersion"]) || "/"}, Kind=${text(review!["kind"])}`
    if (sent !== `${apiVersion}, Kind=AdmissionReview`)
      throw new Error(`expected webhook response of ${apiVersion}, Kind=AdmissionReview, got ${sent}`)
  }
  return {
    allowed: response["allowed"] === true,
    patch: patchOf(response, mayChange, isStrict),
    warnings: Array.isArray(response["warnings"]) ? response["warnings"].map(String) : [],
    auditAnnotations: texts(asRecord(response["auditAnnotations"])),
    result: asRecord(response["status"]),
  }
}

function patchOf(
  response: Readonly<Record<string, unknown>>,
  mayChange: boolean,
  isStrict: boolean,
): readonly unknown[] {
  const patch = text(response["patch"])
  const type = response["patchType"] ?? undefined
  if (!mayChange) {
    if (isStrict && patch !== "") throw new Error("validating webhook may not return response.patch")
    if (isStrict && type !== undefined) throw new Error("validating webhook may not return response.patchType")
    return []
  }
  if (isStrict) {
    if (patch !== "" && type === undefined)
      throw new Error("webhook returned response.patch but not response.patchType")
    if (patch === "" && type !== undefined)
      throw new Error("webhook returned response.patchType but not response.patch")
    if (type === "") throw new Error('webhook returned invalid response.patchType of ""')
  }
  if (patch === "") return []
  let operations: unknown
  try {
    operations = parseJson(Buffer.from(patch, "base64").toString()).value
  } catch (err) {
    throw new UndecodablePatch((err as Error).message)
  }
  if (operations === null) return []
  if (!Array.isArray(operations))
    throw new UndecodablePatch(`json: cannot unmarshal ${goKind(operations)} into Go value of type jsonpatch.Patch`)
  if (operations.length > 0 && isStrict && type !== "JSONPatch") throw new UnsupportedPatchType(String(type))
  return operations
}

/** The patch type of a response is not JSONPatch. */
export class UnsupportedPatchType extends Error {
  constructor(type: string) {
    super(`unsupported patch type ${JSON.stringify(type)}`)
  }
}
/** The patch of a response is not a JSON list. */
export class UndecodablePatch extends Error {
  constructor(why: string) {
    super(`received undecodable patch in webhook response: ${why}`)
  }
}

const goKind = (value: unknown): string => (typeof value === "boolean" ? "bool" : typeof value)

const text = (value: unknown): string => (typeof value === "string" ? value : "")
const asRecord = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined
const texts = (record: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, String(value)]))
