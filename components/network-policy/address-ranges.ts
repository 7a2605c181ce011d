import { addressText, parseNetwork, type Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { IPBlock } from "../../pkg/api/networking/v1/networkpolicy.ts"

/** Addresses of one family from `first` to `last`, both included. */
export interface AddressRange {
  readonly family: Family
  readonly first: bigint
  readonly last: bigint
}

/**
 * Returns the addresses of a block without those of its `except`, as separate ranges in ascending order; none when
 * `cidr` is invalid, which validation prevents.
 */
export function rangesOf({ cidr, except = [] }: IPBlock): readonly AddressRange[] {
  const block = parseNetwork(cidr)
  if (block === undefined) return []
  const holes = except
    .map(parseNetwork)
    .filter((hole) => hole?.family === block.family)
    .map((hole) => hole!)
    .sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))
  const ranges: AddressRange[] = []
  let next = block.first
  for (const { first, last } of holes) {
    if (first > next) ranges.push({ family: block.family, first: next, last: first - 1n })
    if (last >= next) next = last + 1n
  }
  if (next <= block.last) ranges.push({ family: block.family, first: next, last: block.last })
  return ranges
}

/** Merges overlapping and adjacent ranges, in ascending order, since an nft set refuses overlaps. */
export function merged(ranges: readonly AddressRange[]): readonly AddressRange[] {
  const result: AddressRange[] = []
  for (const range of ranges.toSorted(inOrder)) {
    const before = result.at(-1)
    if (before === undefined || before.family !== range.family || range.first > before.last + 1n) result.push(range)
    else if (range.last > before.last) result[result.length - 1] = { ...before, last: range.last }
  }
  return result
}

const inOrder = (a: AddressRange, b: AddressRange): number =>
  a.family !== b.family ? (a.family === "IPv4" ? -1 : 1) : a.first < b.first ? -1 : a.first > b.first ? 1 : 0

/** Formats a range for nft: `10.0.0.0-10.0.0.255`, or a single address. */
export const rangeText = ({ family, first, last }: AddressRange): string =>
  first === last
    ? addressText({ family, number: first })
    : `${addressText({ family, number: first })}-${addressText({ family, number: last })}`
