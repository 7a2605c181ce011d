/** The first of several values in their order, and the number of those that follow. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly remaining: number
}

/** Returns the first `limit` of these values; `more` others follow them. */
export function firstOf<T>(values: readonly T[], limit: number, more = 0): Page<T> {
  const items = values.slice(0, limit)
  return { items, remaining: values.length - items.length + more }
}
