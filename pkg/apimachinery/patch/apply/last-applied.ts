import type { KubeObject } from "../../resource.ts"
import { compare, fieldSetOf } from "./compare.ts"
import { difference, NOTHING, type FieldSet } from "./fieldset.ts"
import type { Shape } from "./shape.ts"

/**
 * The annotation in which client-side `kubectl apply` stores the last configuration, from which `kubectl apply
 * --server-side` takes over. Source: apimachinery
 * pkg/util/managedfields/internal/{lastapplied,lastappliedmanager,lastappliedupdater}.go.
 */
const ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

/**
 * Returns the fields that the last client-side apply set and that still have its values. Empty when there was none, or
 * it was of another version.
 */
export function lastAppliedFields(
  shape: Shape,
  { apiVersion }: { readonly apiVersion: string },
  live: KubeObject,
): FieldSet {
  const applied = parsed(live.metadata.annotations?.[ANNOTATION])
  if (applied === undefined || applied["apiVersion"] !== apiVersion) return NOTHING
  const { changed, removed } = compare(shape, applied, live)
  return difference(difference(fieldSetOf(shape, applied), changed), removed)
}

function parsed(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  if (text === undefined || text === "") return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    // A user may have written anything there, which is then ignored.
    return undefined
  }
}

/** Updates the annotation if the object has it, so that a later client-side apply starts from this configuration. */
export function withLastApplied(object: KubeObject, config: Readonly<Record<string, unknown>>): KubeObject {
  if ((object.metadata.annotations?.[ANNOTATION] ?? "") === "") return object
  const metadata = (config["metadata"] ?? {}) as Readonly<Record<string, unknown>>
  const { [ANNOTATION]: _last, ...annotations } = (metadata["annotations"] ?? {}) as Readonly<Record<string, unknown>>
  // The stored configuration gets no annotations if none were sent, since kubectl would see them as a change.
  const kept = metadata["annotations"] === undefined ? metadata : { ...metadata, annotations }
  const applied = JSON.stringify({ ...config, metadata: kept })
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [ANNOTATION]: `${applied}\n` } },
  }
}
