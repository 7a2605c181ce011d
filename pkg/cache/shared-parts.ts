import { clearedAtRest } from "./at-rest.ts"
import { isSmall } from "./is-small.ts"

/**
 * Most groups of which the last value is kept; then the one that was used longest ago is dropped. Few groups are in use
 * at the same time.
 */
const MOST_GROUPS = 128
/** Larger values are neither kept nor shared, in characters. */
const LARGEST = 65_536

/**
 * Lets values share their equal parts with the last value of their group: the statuses of two pods of one template
 * differ in addresses and ids, but have the same conditions. Values are immutable.
 */
export class SharedParts {
  readonly #lastOf = clearedAtRest(new Map<string, object>())

  /** Returns the value, or an equal one that consists of parts of the group's last value where these are equal. */
  of<T extends object>(value: T, group: string): T {
    if (!isSmall(value, LARGEST)) return value
    const last = this.#lastOf.get(group)
    const shared = last === undefined ? value : withParts(value, last)
    if (last !== undefined) this.#lastOf.delete(group)
    else if (this.#lastOf.size >= MOST_GROUPS) this.#lastOf.delete(this.#lastOf.keys().next().value!)
    this.#lastOf.set(group, shared) // the one used last stands last
    return shared
  }
}

/** Returns `last` if it equals `value`, also in nulls; otherwise `value` with those parts of `last` that are equal. */
function withParts<T>(value: T, last: unknown): T {
  if (value === last || typeof value !== "object" || value === null) return value
  if (typeof last !== "object" || last === null || Array.isArray(value) !== Array.isArray(last)) return value
  const [mine, theirs] = [value as Readonly<Record<string, unknown>>, last as Readonly<Record<string, unknown>>]
  let copy: Record<string, unknown> | undefined
  let isEqual = true
  let count = 0
  for (const key in mine) {
    count++
    const own = mine[key]
    const part = withParts(own, theirs[key])
    if (part !== theirs[key] || (part === undefined && !(key in theirs))) isEqual = false
    if (part !== own) (copy ??= copyOf(mine))[key] = part
  }
  if (isEqual && count === Object.keys(theirs).length) return last as T
  return (copy as T | undefined) ?? value
}

const copyOf = (value: object): Record<string, unknown> =>
  (Array.isArray(value) ? [...(value as readonly unknown[])] : { ...value }) as Record<string, unknown>
