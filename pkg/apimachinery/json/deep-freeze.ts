/**
 * Freezes a JSON value with all it contains, so that code which changes it throws. A frozen value is assumed to be
 * frozen throughout.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}
