/** What a value takes beside its text and its parts, in characters. */
const VALUE = 4

/**
 * Whether a JSON value takes at most `most` characters: what users write may be large, and a cache that keeps the last
 * value of each of many groups must not keep large ones. The rest of a larger value is not read.
 */
export const isSmall = (value: unknown, most: number): boolean => left(value, most) >= 0

/** Returns how much of `most` a value leaves; less than 0 when the value takes more. */
function left(value: unknown, most: number): number {
  if (typeof value === "string") return most - VALUE - value.length
  if (typeof value !== "object" || value === null) return most - VALUE
  let rest = most - VALUE
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && rest >= 0; i++) rest = left(value[i], rest)
    return rest
  }
  const parts = value as Readonly<Record<string, unknown>>
  for (const key in parts) {
    if (rest < 0) return rest
    rest = left(parts[key], rest - key.length)
  }
  return rest
}
