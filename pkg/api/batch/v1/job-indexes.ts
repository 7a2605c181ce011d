/**
 * Parses lists of indexes such as `1,3-5`, and returns upstream's messages for invalid ones. Source:
 * validateIndexesFormat in pkg/apis/batch/validation/validation.go.
 */

type Interval = readonly [first: number, last: number]

/** Returns how many indexes a text contains; a message when it is invalid. */
export function countIndexes(text: string, completions: number): number | string {
  let total = 0
  let before: number | undefined
  for (const part of text === "" ? [] : text.split(",")) {
    const interval = intervalOf(part, completions)
    if (typeof interval === "string") return interval
    const [first, last] = interval
    if (before !== undefined && before >= first) return `non-increasing order, previous: ${before}, current: ${first}`
    total += last - first + 1
    before = last
  }
  return total
}

/** Go's int has 64 bits: strconv.Atoi refuses larger numbers. */
const LARGEST_INT = 2 ** 63

function intervalOf(text: string, completions: number): Interval | string {
  const ends = text.split("-")
  if (ends.length > 2)
    return (
      `the fragment ${JSON.stringify(text)} violates the requirement that an index interval can have at most ` +
      "two parts separated by '-'"
    )
  for (const end of ends) {
    if (!/^[+-]?\d+$/.test(end) || Math.abs(Number(end)) >= LARGEST_INT)
      return `cannot convert string to integer for index: ${JSON.stringify(end)}`
    if (Number(end) >= completions) return `too large index: ${JSON.stringify(end)}`
  }
  const [first, last] = [Number(ends[0]), Number(ends.at(-1))]
  return ends.length === 2 && first >= last
    ? `non-increasing order, previous: ${first}, current: ${last}`
    : [first, last]
}

const readable = (text: string, completions: number): readonly Interval[] =>
  text.split(",").flatMap((part) => {
    const interval = intervalOf(part, completions)
    return typeof interval === "string" ? [] : [interval]
  })

/**
 * Returns the message about an index that is in both texts; undefined when there is none. Parts that cannot be parsed
 * are skipped. Source: validateFailedIndexesNotOverlapCompleted.
 */
export function overlapOfIndexes(completed: string, failed: string, completions: number): string | undefined {
  const [left, right] = [readable(completed, completions), readable(failed, completions)]
  let [i, j] = [0, 0]
  while (i < left.length && j < right.length) {
    const [first, last] = left[i]!
    const [otherFirst, otherLast] = right[j]!
    if (first <= otherLast && otherFirst <= last)
      return `failedIndexes and completedIndexes overlap at index: ${Math.max(first, otherFirst)}`
    if (first <= otherFirst) i++
    else j++
  }
  return undefined
}
