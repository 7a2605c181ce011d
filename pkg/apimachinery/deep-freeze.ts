/**
 * Freezes a value of JSON and all in it, so that a change in place throws where it is made. What is frozen already is
 * taken to be so all the way down.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}
