/** The bytes of a file that are asked for: `to` is the first one that is not. */
export interface ByteRange {
  readonly from: number
  readonly to: number
  readonly isWhole: boolean
}

/**
 * Reads a Range header; undefined when the file has none of its bytes. Several ranges, and what cannot be read, are the
 * whole file, as RFC 9110, 14.2 allows.
 */
export function rangeOf(header: string | undefined, size: number): ByteRange | undefined {
  const whole = { from: 0, to: size, isWhole: true }
  const [, first = "", last = ""] = /^bytes=\s*(?:(\d+)\s*)?-\s*(?:(\d+)\s*)?$/.exec(header ?? "") ?? []
  if (first === "" && last === "") return whole
  if (first === "") return { from: Math.max(0, size - Number(last)), to: size, isWhole: false }
  const from = Number(first)
  if (from >= size) return undefined
  const to = last === "" ? size : Math.min(size, Number(last) + 1)
  return to <= from ? whole : { from, to, isWhole: false }
}
