import { isMap } from "./drafts.ts"
import type { Work } from "./work.ts"

/** Whether two values of JSON are equal; null is one of its own. */
export function isSame(a: unknown, b: unknown, work: Work): boolean {
  work.step()
  if (a === b) return true
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => isSame(item, b[i], work))
  if (!isMap(a) || !isMap(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key], work))
  )
}

/** Returns the text that all equal values have, and no other. */
export function canonical(value: unknown, work: Work): string {
  work.step()
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, work)).join(",")}]`
  if (isMap(value))
    return `{${Object.keys(value)
      .toSorted()
      .map((key) => `${JSON.stringify(key)}:${canonical(value[key], work)}`)
      .join(",")}}`
  return JSON.stringify(value)
}
