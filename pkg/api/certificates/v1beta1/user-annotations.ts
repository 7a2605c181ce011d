import type { Cause } from "../../../apimachinery/errors.ts"
import { invalidValue, invalidValues, required, tooLong } from "../../../apimachinery/validation/field-errors.ts"
import { isQualifiedName } from "../../../apimachinery/validation/names.ts"
import { pushAll } from "../../../lists/push-all.ts"

/** Bytes of all keys and values: 256 KiB. */
const LARGEST = 256 * 1024

/**
 * Returns the faults of what a pod tells a signer: annotations whose keys have a domain. Source:
 * ValidateUserAnnotations in pkg/apis/core/validation.
 */
export function userAnnotationFaults(
  field: string,
  annotations: Readonly<Record<string, string>> = {},
): readonly Cause[] {
  const causes: Cause[] = []
  let bytes = 0
  for (const [given, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(given) + Buffer.byteLength(value)
    const key = given.toLowerCase()
    const problem = isQualifiedName(key)
    if (key === "") causes.push(required(field))
    else if (problem !== undefined) pushAll(causes, invalidValues(field, key, problem))
    else if (!key.includes("/"))
      causes.push(invalidValue(field, key, 'must be a domain-prefixed key (such as "acme.io/foo")'))
  }
  return bytes > LARGEST ? [...causes, tooLong(field, LARGEST)] : causes
}
