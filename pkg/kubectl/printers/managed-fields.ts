import { isList, type Unstructured } from "../rest/json.ts"
import { isTyped, isWatchEvent, typedObject, watchEventObject, type ResourcePrinter } from "./printer.ts"

/** Prints objects without `managedFields`, which few want to see. */
export const omitManagedFields = (printer: ResourcePrinter): ResourcePrinter => ({
  print: (object, out) => printer.print(withoutManagedFields(object), out),
})

function withoutManagedFields(object: Unstructured): Unstructured {
  // Source: cli-runtime pkg/printers/managedfields.go, which leaves events as they are.
  if (isWatchEvent(object)) return watchEventObject(object.type, object.object)
  // A copy prints its fields in the order in which the object does.
  const copied = isTyped(object) ? typedObject<Unstructured> : (copy: Unstructured) => copy
  if (isList(object)) return copied({ ...object, items: object.items.map(withoutManagedFields) })
  if (object.metadata?.managedFields === undefined) return object
  const { managedFields: _, ...metadata } = object.metadata
  return copied({ ...object, metadata })
}
