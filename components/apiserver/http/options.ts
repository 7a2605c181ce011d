import { badRequest, invalid, type Cause } from "../../../pkg/apimachinery/errors.ts"
import { invalidValue, notSupported } from "../../../pkg/apimachinery/field-errors.ts"
import type { RequestOptions } from "../request.ts"
import type { Query } from "./query.ts"
import { isTrue } from "./request-info.ts"

/** Nothing was asked for: one value for all the requests without a query. */
const NONE: RequestOptions = {}

const BOOLEANS = ["allowWatchBookmarks", "sendInitialEvents", "force", "orphanDependents"] as const
const NUMBERS = ["limit", "timeoutSeconds", "gracePeriodSeconds"] as const
const TEXTS = [
  "labelSelector",
  "fieldSelector",
  "continue",
  "resourceVersion",
  "resourceVersionMatch",
  "fieldManager",
] as const
const FIELD_VALIDATION: readonly string[] = ["", "Ignore", "Strict", "Warn"]
const PROPAGATION: readonly string[] = ["Foreground", "Background", "Orphan"]

/**
 * The options in a query. Throws BadRequest where a value cannot be read and Invalid where it can but is not allowed.
 * Source: apimachinery pkg/apis/meta/v1 ListOptions, CreateOptions …, and meta/v1/validation.
 */
export function optionsOf(query: Query, verb: string): RequestOptions {
  if (query.raw === "") return NONE
  const options: Record<string, unknown> = {}
  for (const name of TEXTS) {
    const value = query.get(name)
    if (value !== undefined && value !== "") options[name] = value
  }
  for (const name of NUMBERS) {
    const value = query.get(name)
    if (value !== undefined && value !== "") options[name] = integer(value)
  }
  for (const name of BOOLEANS) {
    const value = query.get(name)
    if (value !== undefined) options[name] = isTrue(value)
  }
  const causes: Cause[] = []
  const dryRun = query.all("dryRun")
  if (dryRun.length > 0) {
    if (dryRun.some((value) => value !== "All")) causes.push(notSupported("dryRun", dryRun, ["All"]))
    options.dryRun = true
  }
  const fieldValidation = query.get("fieldValidation")
  if (fieldValidation !== undefined && fieldValidation !== "") {
    if (!FIELD_VALIDATION.includes(fieldValidation))
      causes.push(notSupported("fieldValidation", fieldValidation, FIELD_VALIDATION))
    options.fieldValidation = fieldValidation
  }
  const propagationPolicy = query.get("propagationPolicy")
  if (propagationPolicy !== undefined && propagationPolicy !== "") {
    if (!PROPAGATION.includes(propagationPolicy))
      causes.push(notSupported("propagationPolicy", propagationPolicy, [...PROPAGATION, "nil"]))
    options.propagationPolicy = propagationPolicy
  }
  const { fieldManager } = options
  if (typeof fieldManager === "string" && fieldManager.length > 128)
    causes.push({
      reason: "FieldValueTooLong",
      field: "fieldManager",
      message: "Too long: may not be more than 128 bytes",
    })
  else if (typeof fieldManager === "string" && !PRINTABLE.test(fieldManager))
    causes.push(invalidValue("fieldManager", fieldManager, "should only contain printable characters"))
  if (causes.length > 0) throw invalid({ group: "meta.k8s.io", kind: KIND[verb] ?? "ListOptions" }, "", causes)
  return options
}

/**
 * The options of a deletion: those of the query, then those of a DeleteOptions body, which win.
 * Source: apiserver pkg/endpoints/handlers/delete.go.
 */
export function deleteOptionsOf(fromQuery: RequestOptions, body: unknown): RequestOptions {
  if (body === undefined || body === null) return fromQuery
  if (typeof body !== "object" || Array.isArray(body))
    throw badRequest("the body of a deletion must be a DeleteOptions object")
  const { kind, dryRun, gracePeriodSeconds, propagationPolicy, orphanDependents, preconditions } = body as Record<
    string,
    unknown
  >
  if (kind !== undefined && kind !== "DeleteOptions")
    throw badRequest(`decoded object cannot be converted to DeleteOptions: its kind is ${JSON.stringify(kind)}`)
  const options: Record<string, unknown> = { ...fromQuery }
  const causes: Cause[] = []
  if (Array.isArray(dryRun) && dryRun.length > 0) {
    if (dryRun.some((value) => value !== "All")) causes.push(notSupported("dryRun", dryRun, ["All"]))
    options.dryRun = true
  }
  if (gracePeriodSeconds !== undefined && gracePeriodSeconds !== null) {
    if (typeof gracePeriodSeconds !== "number" || !Number.isInteger(gracePeriodSeconds))
      throw badRequest("DeleteOptions.gracePeriodSeconds must be an integer")
    options.gracePeriodSeconds = gracePeriodSeconds
  }
  if (typeof propagationPolicy === "string" && propagationPolicy !== "") {
    if (!PROPAGATION.includes(propagationPolicy))
      causes.push(notSupported("propagationPolicy", propagationPolicy, [...PROPAGATION, "nil"]))
    options.propagationPolicy = propagationPolicy
  }
  if (typeof orphanDependents === "boolean") options.orphanDependents = orphanDependents
  if (options.orphanDependents !== undefined && options.propagationPolicy !== undefined)
    causes.push(
      invalidValue(
        "propagationPolicy",
        options.propagationPolicy,
        "orphanDependents and deletionPropagation cannot be both set",
      ),
    )
  if (typeof preconditions === "object" && preconditions !== null) {
    const { uid, resourceVersion } = preconditions as Record<string, unknown>
    options.preconditions = {
      ...(typeof uid === "string" ? { uid } : {}),
      ...(typeof resourceVersion === "string" ? { resourceVersion } : {}),
    }
  }
  if (causes.length > 0) throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", causes)
  return options
}

const KIND: Readonly<Record<string, string>> = {
  create: "CreateOptions",
  update: "UpdateOptions",
  patch: "PatchOptions",
  delete: "DeleteOptions",
  deletecollection: "DeleteOptions",
}
const PRINTABLE = /^[^\p{C}\p{Z}]*(?: [^\p{C}\p{Z}]*)*$/u

function integer(text: string): number {
  const value = Number(text)
  if (!/^[+-]?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
  if (!Number.isSafeInteger(value))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`)
  return value
}
