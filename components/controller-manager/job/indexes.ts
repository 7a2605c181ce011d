/**
 * Sets of completion indexes as intervals, and as the text in which a Job's status and success policy write them:
 * `1,3-5,7`. Source of the format: pkg/controller/job/indexed_job_utils.go.
 */
export interface Interval {
  readonly first: number
  /** The last index, included. */
  readonly last: number
}
/** Sorted, with a gap between neighbours. */
export type Indexes = readonly Interval[]

export const NO_INDEXES: Indexes = []

/** Parses intervals. Invalid parts and indexes from `completions` on are left out. */
export function parseIndexes(text: string | undefined, completions: number): Indexes {
  const intervals: Interval[] = []
  for (const part of (text ?? "").split(",")) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part)
    if (match === null) continue
    const first = Number(match[1])
    const last = Math.min(Number(match[2] ?? first), completions - 1)
    if (first <= last) intervals.push({ first, last })
  }
  return joined(intervals)
}

/** Formats intervals: two neighbours as `3,4`, longer runs as `3-5`. */
export const formatIndexes = (indexes: Indexes): string =>
  indexes
    .map(({ first, last }) => (first === last ? `${first}` : `${first}${last === first + 1 ? "," : "-"}${last}`))
    .join(",")

export const countOf = (indexes: Indexes): number => indexes.reduce((sum, { first, last }) => sum + last - first + 1, 0)

export function hasIndex(indexes: Indexes, index: number): boolean {
  let [low, high] = [0, indexes.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (indexes[middle]!.last < index) low = middle + 1
    else high = middle
  }
  return low < indexes.length && indexes[low]!.first <= index
}

export const withIndexes = (indexes: Indexes, more: readonly number[]): Indexes =>
  more.length === 0 ? indexes : joined([...indexes, ...more.map((index) => ({ first: index, last: index }))])

export const union = (...sets: readonly Indexes[]): Indexes => joined(sets.flat())

/** Returns how many indexes are in both. */
export function overlap(a: Indexes, b: Indexes): number {
  let sum = 0
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const [one, other] = [a[i]!, b[j]!]
    sum += Math.max(0, Math.min(one.last, other.last) - Math.max(one.first, other.first) + 1)
    if (one.last < other.last) i++
    else j++
  }
  return sum
}

/** Returns the lowest `count` indexes below `completions` that are not in `taken`. */
export function firstFree(taken: Indexes, count: number, completions: number): readonly number[] {
  const free: number[] = []
  let candidate = 0
  for (const { first, last } of [...taken, { first: completions, last: completions }]) {
    for (; candidate < Math.min(first, completions) && free.length < count; candidate++) free.push(candidate)
    candidate = Math.max(candidate, last + 1)
  }
  return free
}

function joined(intervals: readonly Interval[]): Indexes {
  const result: Interval[] = []
  for (const { first, last } of [...intervals].sort((a, b) => a.first - b.first)) {
    const before = result.at(-1)
    if (before !== undefined && first <= before.last + 1)
      result[result.length - 1] = { first: before.first, last: Math.max(before.last, last) }
    else result.push({ first, last })
  }
  return result
}
