import { Buffer } from "node:buffer"
import { badRequest, invalid, type Cause } from "../../../pkg/apimachinery/errors.ts"
import {
  forbiddenField,
  invalidValue,
  invalidWithoutValue,
  notSupported,
  required,
  tooLong,
} from "../../../pkg/apimachinery/validation/field-errors.ts"
import { goQuoted, parseInt64 } from "../../../pkg/apimachinery/go/go-text.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { decodeMessage } from "../../../pkg/apimachinery/decoding/decode.ts"
import { DecodeError } from "../../../pkg/apimachinery/decoding/decoder-cursor.ts"
import { DeleteOptions } from "../../../pkg/apimachinery/meta.ts"
import { noTypeMeta } from "../codec/type-meta.ts"
import type { RequestOptions } from "../call/request.ts"
import type { Query } from "../call/query.ts"
import { isTrue } from "../call/request-info.ts"

/** The options of all requests without a query. */
const NONE: RequestOptions = {}

/** The query parameters that a verb reads, by their types. Other parameters are ignored. */
interface Parameters {
  readonly texts?: readonly (keyof RequestOptions)[]
  readonly numbers?: readonly (keyof RequestOptions)[]
  readonly booleans?: readonly (keyof RequestOptions)[]
}
const LIST: Parameters = {
  texts: ["labelSelector", "fieldSelector", "continue", "resourceVersion", "resourceVersionMatch"],
  numbers: ["limit", "timeoutSeconds"],
  booleans: ["allowWatchBookmarks", "sendInitialEvents"],
}
const WRITE: Parameters = { texts: ["fieldManager", "fieldValidation"] }
const DELETE: Parameters = {
  texts: ["propagationPolicy"],
  numbers: ["gracePeriodSeconds"],
  booleans: ["orphanDependents"],
}
/** Source: apimachinery pkg/apis/meta/v1/types.go GetOptions, ListOptions, CreateOptions … */
const PARAMETERS: Readonly<Record<string, Parameters>> = {
  get: { texts: ["resourceVersion"] },
  list: LIST,
  watch: LIST,
  create: WRITE,
  update: WRITE,
  patch: { ...WRITE, booleans: ["force"] },
  delete: DELETE,
  deletecollection: {
    texts: [...LIST.texts!, ...DELETE.texts!],
    numbers: [...LIST.numbers!, ...DELETE.numbers!],
    booleans: [...LIST.booleans!, ...DELETE.booleans!],
  },
}
const FIELD_VALIDATION: readonly string[] = ["", "Ignore", "Strict", "Warn"]
const PROPAGATION: readonly string[] = ["Foreground", "Background", "Orphan"]

/**
 * Parses the options in a query for a verb. `isApply` says whether a patch is a server-side apply. Throws BadRequest
 * where a value cannot be parsed and Invalid where a value is not allowed. Source: apimachinery pkg/apis/meta/v1
 * ListOptions, CreateOptions …, and meta/v1/validation.
 */
export function optionsOf(query: Query, verb: string, isApply = false): RequestOptions {
  if (query.raw === "") return NONE
  const { texts = [], numbers = [], booleans = [] } = PARAMETERS[verb] ?? LIST
  const options: Record<string, unknown> = {}
  for (const name of numbers) {
    const value = query.get(name)
    if (value !== undefined) options[name] = integer(value)
  }
  for (const name of booleans) {
    const value = query.get(name)
    if (value !== undefined) options[name] = isTrue(value)
  }
  for (const name of texts) {
    const value = query.get(name)
    // An empty policy is an error; other empty texts are allowed.
    if (value !== undefined && (value !== "" || name === "propagationPolicy")) options[name] = value
  }
  if (!(verb in KIND)) return options
  const dryRun = query.all("dryRun")
  if (dryRun.length > 0) options.dryRun = true
  const isDelete = verb === "delete" || verb === "deletecollection"
  if (isDelete) Object.assign(options, queryPreconditions(query))
  const causes = isDelete
    ? [...deleteFaults(options), ...dryRunFaults(dryRun)]
    : [
        ...(verb === "patch" ? (isApply ? applyFaults(options) : forceFaults(options)) : []),
        ...fieldManagerFaults(options),
        ...dryRunFaults(dryRun),
        ...fieldValidationFaults(options),
      ]
  if (causes.length > 0) throw invalid({ group: "meta.k8s.io", kind: KIND[verb]! }, "", causes)
  return options
}

const dryRunFaults = (dryRun: readonly string[]): Cause[] =>
  dryRun.every((value) => value === "All") ? [] : [notSupported("dryRun", dryRun, ["All"])]

const forceFaults = ({ force }: RequestOptions): Cause[] =>
  force === undefined ? [] : [forbiddenField("force", "may not be specified for non-apply patch")]

const applyFaults = ({ fieldManager = "" }: RequestOptions): Cause[] =>
  fieldManager === "" ? [required("fieldManager", "is required for apply patch")] : []

const fieldValidationFaults = ({
  fieldValidation: given,
}: {
  readonly fieldValidation?: string | undefined
}): Cause[] =>
  given === undefined || FIELD_VALIDATION.includes(given)
    ? []
    : [notSupported("fieldValidation", given, FIELD_VALIDATION)]

function fieldManagerFaults({ fieldManager = "" }: RequestOptions): Cause[] {
  const causes: Cause[] = []
  if (Buffer.byteLength(fieldManager) > LONGEST_MANAGER) causes.push(tooLong("fieldManager", LONGEST_MANAGER))
  let at = 0
  for (const char of fieldManager) {
    if (!PRINTABLE.test(char)) {
      const code = `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`
      causes.push(
        invalidWithoutValue("fieldManager", `${goQuoted(fieldManager)}: invalid character ${code} (at position ${at})`),
      )
    }
    at += Buffer.byteLength(char)
  }
  return causes
}
const LONGEST_MANAGER = 128
const PRINTABLE = /^[ \p{L}\p{M}\p{N}\p{P}\p{S}]$/u

/** Checks DeleteOptions, in the order of upstream's ValidateDeleteOptions. */
function deleteFaults(options: {
  readonly orphanDependents?: boolean | undefined
  readonly propagationPolicy?: string | undefined
}): Cause[] {
  const { orphanDependents, propagationPolicy: policy } = options
  if (policy === undefined) return []
  const causes: Cause[] = []
  if (orphanDependents !== undefined)
    causes.push(
      invalidValue("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set"),
    )
  if (!PROPAGATION.includes(policy)) causes.push(notSupported("propagationPolicy", policy, [...PROPAGATION, "nil"]))
  return causes
}

/** Returns the preconditions in the query of a deletion. Source: Convert_url_Values_To_v1_DeleteOptions. */
function queryPreconditions(query: Query): Pick<RequestOptions, "preconditions"> {
  const [uid = "", resourceVersion = ""] = [query.get("uid"), query.get("resourceVersion")]
  if (uid === "" && resourceVersion === "") return {}
  return {
    preconditions: { ...(uid === "" ? {} : { uid }), ...(resourceVersion === "" ? {} : { resourceVersion }) },
  }
}

/** Options may have the version of any group, or of meta. Source: apimachinery pkg/apis/meta/internalversion/scheme. */
const OPTIONS_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"

/**
 * Returns the options of a deletion with a body: of the query only the list options of a collection (selectors, limit
 * and so on) count then. Throws BadRequest when the body is no DeleteOptions and Invalid where they are not allowed.
 * Source: apiserver pkg/endpoints/handlers/delete.go.
 */
export function deleteOptionsOf(fromQuery: RequestOptions, body: unknown): RequestOptions {
  const { dryRun: _dry, gracePeriodSeconds: _grace, propagationPolicy: _policy, ...others } = fromQuery
  const { orphanDependents: _orphan, preconditions: _preconditions, ...selection } = others
  if (body === undefined || body === null) return selection
  if (typeof body !== "object" || Array.isArray(body))
    throw badRequest(`couldn't get version/kind; json parse error: ${noTypeMeta(body)}`)
  const { kind = "DeleteOptions", apiVersion = "meta.k8s.io/v1", ...sent } = body as Record<string, unknown>
  if (kind !== "DeleteOptions")
    throw badRequest(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme ${JSON.stringify(OPTIONS_SCHEME)}`,
    )
  const { dryRun, gracePeriodSeconds, propagationPolicy, orphanDependents, preconditions } = decodedOptions(sent)
  const causes = [...deleteFaults({ orphanDependents, propagationPolicy }), ...dryRunFaults(dryRun ?? [])]
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

function integer(text: string): number {
  try {
    return Number(parseInt64(text))
  } catch (err) {
    throw badRequest(errorMessage(err))
  }
}
