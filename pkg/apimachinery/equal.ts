/**
 * Are two plain JSON values the same? An absent property equals one that is undefined or null; the order of properties
 * does not matter. Shared references are equal at once, which makes this cheap for immutable objects. Source of the
 * meaning: apimachinery pkg/api/equality (absent and empty differ here).
 */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false
    for (let i = 0; i < a.length; i++) if (!deepEqual(a[i], b[i])) return false
    return true
  }
  if (Array.isArray(b)) return false
  const left = a as Record<string, unknown>
  const right = b as Record<string, unknown>
  let defined = 0
  for (const key in left) {
    if (isAbsent(left[key])) continue
    if (!deepEqual(left[key], right[key])) return false
    defined++
  }
  if (defined === Object.keys(right).length) return true
  for (const key in right) if (!isAbsent(right[key])) defined--
  return defined === 0
}

/** The same of two objects, but for the properties of these names. */
export function equalBeside(a: object, b: object, except: readonly string[]): boolean {
  const left = a as Record<string, unknown>
  const right = b as Record<string, unknown>
  for (const key in left)
    if (!except.includes(key) && !isAbsent(left[key]) && !deepEqual(left[key], right[key])) return false
  for (const key in right) if (isAbsent(left[key]) && !isAbsent(right[key]) && !except.includes(key)) return false
  return true
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null
