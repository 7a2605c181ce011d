import { badRequest, invalid, type Cause } from "../../../pkg/apimachinery/errors.ts"
import { invalidValue, notSupported } from "../../../pkg/apimachinery/field-errors.ts"
import { decodeMessage } from "../../../pkg/apimachinery/decode.ts"
import { DecodeError } from "../../../pkg/apimachinery/decoder.ts"
import { DeleteOptions } from "../../../pkg/apimachinery/meta.ts"
import { noTypeMeta } from "./type-meta.ts"
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

/** Options may name any group, or that of metadata. Source: apimachinery pkg/apis/meta/internalversion/scheme. */
const OPTIONS_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"

/**
 * The options of a deletion that has a body: of those the query gives only what chooses the objects of a collection
 * counts. Throws BadRequest when it holds no DeleteOptions and Invalid where they are not allowed. Source: apiserver
 * pkg/endpoints/handlers/delete.go.
 */
export function deleteOptionsOf(fromQuery: RequestOptions, body: unknown): RequestOptions {
  const { dryRun: _dry, gracePeriodSeconds: _grace, propagationPolicy: _policy, ...others } = fromQuery
  const { orphanDependents: _orphan, ...selection } = others
  if (body === undefined || body === null) return selection
  if (typeof body !== "object" || Array.isArray(body))
    throw badRequest(`couldn't get version/kind; json parse error: ${noTypeMeta(body)}`)
  const { kind = "DeleteOptions", apiVersion = "meta.k8s.io/v1", ...sent } = body as Record<string, unknown>
  if (kind !== "DeleteOptions")
    throw badRequest(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme ${JSON.stringify(OPTIONS_SCHEME)}`,
    )
  const { dryRun, gracePeriodSeconds, propagationPolicy, orphanDependents, preconditions } = decodedOptions(sent)
  const causes: Cause[] = []
  if (dryRun?.some((value) => value !== "All") === true) causes.push(notSupported("dryRun", dryRun, ["All"]))
  if (propagationPolicy !== undefined && !PROPAGATION.includes(propagationPolicy))
    causes.push(notSupported("propagationPolicy", propagationPolicy, [...PROPAGATION, "nil"]))
  if (orphanDependents !== undefined && propagationPolicy !== undefined)
    causes.push(
      invalidValue(
        "propagationPolicy",
        propagationPolicy,
        "orphanDependents and deletionPropagation cannot be both set",
      ),
    )
  if (causes.length > 0) throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", causes)
  return {
    ...selection,
    ...(dryRun === undefined ? {} : { dryRun: true }),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(propagationPolicy === undefined
      ? {}
      : { propagationPolicy: propagationPolicy as NonNullable<RequestOptions["propagationPolicy"]> }),
    ...(orphanDependents === undefined ? {} : { orphanDependents }),
    ...(preconditions === undefined ? {} : { preconditions: preconditionsOf(preconditions) }),
  }
}

function decodedOptions(sent: object): DeleteOptions {
  try {
    return decodeMessage(DeleteOptions, sent).object as DeleteOptions
  } catch (err) {
    throw err instanceof DecodeError ? badRequest(err.message) : err
  }
}

const preconditionsOf = ({ uid, resourceVersion }: NonNullable<DeleteOptions["preconditions"]>) => ({
  ...(uid === undefined ? {} : { uid }),
  ...(resourceVersion === undefined ? {} : { resourceVersion }),
})

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
