import { goJson, parseJson, type Unstructured } from "./rest/json.ts"

/** The annotation in which `kubectl apply` keeps what was applied last. */
export const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

/** Returns what was applied last, as JSON; undefined when nothing was. Source: kubectl pkg/util/apply.go. */
export const lastApplied = ({ metadata }: Unstructured): string | undefined => metadata?.annotations?.[LAST_APPLIED]

/** Returns the object without the annotation. */
export function unannotated(object: Unstructured): Unstructured {
  const { [LAST_APPLIED]: _, ...annotations } = object.metadata?.annotations ?? {}
  return { ...object, metadata: { ...object.metadata, annotations } }
}

/** Returns the object as it is kept in the annotation: without the annotation, with a line end. */
export const configurationText = (object: Unstructured): string => `${goJson(unannotated(object))}\n`

/** Returns the object with itself in the annotation. */
export function annotated(object: Unstructured): Unstructured {
  const annotations = { ...object.metadata?.annotations, [LAST_APPLIED]: configurationText(object) }
  return { ...object, metadata: { ...object.metadata, annotations } }
}

/** Returns the object with the annotation if it is wanted, or if the object has one, which must not become old. */
export const keptAnnotated = (object: Unstructured, wanted: boolean): Unstructured =>
  wanted || (lastApplied(object) ?? "") !== "" ? annotated(object) : object

/** Returns what was applied last; an empty object when nothing was. @throws Error when the annotation is no JSON */
export function originalOf(object: Unstructured): Unstructured {
  const text = lastApplied(object) ?? ""
  if (text === "") return {}
  try {
    return parseJson(text) as Unstructured
  } catch (err) {
    throw new Error("invalid JSON document", { cause: err })
  }
}
