import { ownValue } from "./set-key.ts"

/**
 * Whether two JSON values are equal. An absent property equals one that is undefined or null; the order of properties
 * does not matter. Equal references are not walked, which makes this cheap for immutable objects. Source of the
 * meaning: apimachinery pkg/api/equality (absent and empty differ here).
 */
export const deepEqual = (a: unknown, b: unknown): boolean => equal(a, b, false)

/** Whether two stored objects are equal, where null differs from absent: a custom object may have either. */
export const deepEqualWithNulls = (a: unknown, b: unknown): boolean => equal(a, b, true)

function equal(a: unknown, b: unknown, nullsCount: boolean): boolean {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  // What an object has under the name `__proto__` that it does not have itself: no value that anybody wrote.
  if (a === Object.prototype || b === Object.prototype) return false
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false
    for (let i = 0; i < a.length; i++) if (!equal(a[i], b[i], nullsCount)) return false
    return true
  }
  if (Array.isArray(b)) return false
  const left = a as Record<string, unknown>
  const right = b as Record<string, unknown>
  let defined = 0
  for (const key in left) {
    if (isAbsent(left[key], nullsCount)) continue
    if (!equal(left[key], right[key], nullsCount)) return false
    defined++
  }
  if (defined === Object.keys(right).length) return true
  for (const key in right) if (!isAbsent(right[key], nullsCount)) defined--
  return defined === 0
}

/** Whether two objects are equal by `deepEqualWithNulls` apart from the properties in `except`. */
export function equalBeside(a: object, b: object, except: readonly string[]): boolean {
  const left = a as Record<string, unknown>
  const right = b as Record<string, unknown>
  for (const key in left) if (!except.includes(key) && !deepEqualWithNulls(left[key], right[key])) return false
  for (const key in right)
    if (ownValue(left, key) === undefined && right[key] !== undefined && !except.includes(key)) return false
  return true
}

const isAbsent = (value: unknown, nullsCount: boolean): boolean =>
  value === undefined || (value === null && !nullsCount)
