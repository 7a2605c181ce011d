/** A minimum and a maximum of a size or of a cost. No number exceeds BOUNDLESS. */
export interface Range {
  readonly min: number
  readonly max: number
}

/** Means "no limit", as the largest uint64 does upstream. */
export const BOUNDLESS = 2 ** 64

export const exactly = (value: number): Range => ({ min: value, max: value })
export const UNKNOWN: Range = { min: 0, max: BOUNDLESS }

export const plus = (a: Range, b: Range): Range => ({
  min: Math.min(a.min + b.min, BOUNDLESS),
  max: Math.min(a.max + b.max, BOUNDLESS),
})
export const times = (a: Range, b: Range): Range => ({ min: product(a.min, b.min), max: product(a.max, b.max) })
const product = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : Math.min(a * b, BOUNDLESS))

/** Multiplies a range by a factor, and rounds up. */
export const scaled = (range: Range, factor: number): Range => ({
  min: Math.min(Math.ceil(range.min * factor), BOUNDLESS),
  max: Math.min(Math.ceil(range.max * factor), BOUNDLESS),
})
/** Returns the smallest range that contains both. */
export const union = (a: Range, b: Range): Range => ({ min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) })
