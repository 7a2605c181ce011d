import { ApiError, type Cause } from "../../../../pkg/apimachinery/errors.ts"
import { isJsonObject } from "../../../../pkg/apimachinery/json/json-value.ts"
import { validateAnnotations, validateLabels } from "../../../../pkg/apimachinery/validation/objectmeta.ts"
import type { ObjectMeta } from "../../../../pkg/apimachinery/meta.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"

type Loose = Readonly<Record<string, unknown>>

/**
 * Checks an object that a webhook converted, and returns it with its original metadata: a webhook may only change
 * labels and annotations.
 * @throws ApiError with upstream's message when it is not an object, or another object or version. Source:
 * conversion/webhook_converter.go Convert, validateConvertedObject, restoreObjectMeta.
 */
export function checkedConversion(original: KubeObject, converted: unknown, apiVersion: string): KubeObject {
  if (converted === null || converted === undefined) throw conversionFailure("unexpected end of JSON input")
  if (!isJsonObject(converted))
    throw conversionFailure(`json: cannot unmarshal ${typeof converted} into Go value of type map[string]interface {}`)
  const sent = converted as Loose
  if (textOf(sent["kind"]) === "") throw conversionFailure(`Object 'Kind' is missing in '${JSON.stringify(sent)}'`)
  const from = shownKind(original)
  const invalid = (what: string, why: string): ApiError =>
    conversionFailure(`conversion webhook for ${from} returned invalid ${what}: ${why}`)
  const version = textOf(sent["apiVersion"])
  if (version !== apiVersion)
    throw invalid("object at index 0", `invalid groupVersion (expected ${apiVersion}, received ${version})`)
  if (sent["kind"] !== original.kind)
    throw invalid("object at index 0", `invalid kind (expected ${original.kind}, received ${textOf(sent["kind"])})`)
  const metadata = isJsonObject(sent["metadata"]) ? (sent["metadata"] as Loose) : {}
  for (const [what, field] of IDENTITY) {
    const [before, now] = [original.metadata[field] ?? "", textOf(metadata[field])]
    if (before !== now) throw invalid("object", `must have the same ${what}: ${before} != ${now}`)
  }
  try {
    return { ...sent, metadata: restored(original.metadata, metadata) } as unknown as KubeObject
  } catch (err) {
    throw invalid("metadata", (err as Error).message)
  }
}

const IDENTITY = [
  ["name", "name"],
  ["namespace", "namespace"],
  ["UID", "uid"],
] as const

/** Returns the original metadata with the labels and annotations of the converted object. */
function restored(original: ObjectMeta, sent: Loose): ObjectMeta {
  const { labels: _labels, annotations: _annotations, ...kept } = original
  const labels = textsOf("labels", sent["labels"])
  const annotations = textsOf("annotations", sent["annotations"])
  if (labels !== undefined && !sameTexts(labels, original.labels)) refuse(validateLabels(labels, "metadata.labels"))
  if (annotations !== undefined && !sameTexts(annotations, original.annotations))
    refuse(validateAnnotations(annotations, "metadata.annotation"))
  return {
    ...kept,
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  }
}

function textsOf(field: string, value: unknown): Readonly<Record<string, string>> | undefined {
  if (value === undefined || value === null) return undefined
  if (!isJsonObject(value)) throw new Error(`invalid metadata.${field} of type ${goType(value)} in converted object`)
  for (const [key, text] of Object.entries(value as Loose))
    if (typeof text !== "string")
      throw new Error(`metadata.${field}[${key}] must be a string, but is ${goType(text)} in converted object`)
  return value as Readonly<Record<string, string>>
}

function sameTexts(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>> = {}): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key])
}

/**
 * @throws ApiError with all faults in the form in which Go prints several errors. Source: apimachinery pkg/util/errors
 * Aggregate.
 */
function refuse(causes: readonly Cause[]): void {
  const texts = [...new Set(causes.map(({ field, message }) => `${field ?? ""}: ${message}`))]
  if (texts.length > 0) throw new Error(texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`)
}

/** Returns an error without a reason, as upstream's. */
export const conversionFailure = (message: string): ApiError => new ApiError("Unknown", message)

/** Returns `<group>/<version>, Kind=<kind>` of an object. */
export const shownKind = ({ apiVersion, kind }: KubeObject): string => `${apiVersion}, Kind=${kind}`

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const goType = (value: unknown): string => {
  if (Array.isArray(value)) return "[]interface {}"
  switch (typeof value) {
    case "number":
      return Number.isInteger(value) ? "int64" : "float64"
    case "boolean":
      return "bool"
    case "object":
      return value === null ? "<nil>" : "map[string]interface {}"
    default:
      return typeof value
  }
}
