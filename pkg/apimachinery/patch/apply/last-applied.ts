import type { KubeObject } from "../../resource.ts"
import { compare, fieldSetOf } from "./compare.ts"
import { difference, NOTHING, type FieldSet } from "./fieldset.ts"
import type { Shape } from "./shape.ts"

/**
 * The annotation in which client-side `kubectl apply` keeps what it last applied, and how `kubectl apply --server-side`
 * takes over from it. Source: apimachinery
 * pkg/util/managedfields/internal/{lastapplied,lastappliedmanager,lastappliedupdater}.go.
 */
const ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

/** What the last client-side apply set and is still so. Empty where there was none, or it was of another version. */
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
    // Whatever a user wrote there: it says nothing then.
    return undefined
  }
}

/**
 * Keeps the annotation in step where the object has one, so that a later client-side apply starts from what was applied
 * here.
 */
export function withLastApplied(object: KubeObject, config: Readonly<Record<string, unknown>>): KubeObject {
  if ((object.metadata.annotations?.[ANNOTATION] ?? "") === "") return object
  const metadata = (config["metadata"] ?? {}) as Readonly<Record<string, unknown>>
  const { [ANNOTATION]: _last, ...annotations } = (metadata["annotations"] ?? {}) as Readonly<Record<string, unknown>>
  // Where no annotations were sent, none are kept: another text would count as a change to kubectl.
  const kept = metadata["annotations"] === undefined ? metadata : { ...metadata, annotations }
  const applied = JSON.stringify({ ...config, metadata: kept })
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [ANNOTATION]: `${applied}\n` } },
  }
}
