import { sizeOrUnknown, type CallEstimate, type EstimatedNode } from "./estimated-node.ts"
import { BOUNDLESS, exactly, plus, scaled, times, type Range } from "./range.ts"
import { NEW_LIST, TEXT } from "./sizes.ts"

/** Estimates for cel-go's libraries of lists and sets. Source: cel-go ext/{lists,sets}.go. */

const newList = (factor: number, size: Range): CallEstimate => ({
  cost: plus(scaled(size, factor), exactly(1 + NEW_LIST)),
  resultSize: size,
})

const compared = (size: Range, isText: boolean): CallEstimate => newList(isText ? 2 + TEXT : 2, times(size, size))

/** Returns the value of an int literal; `otherwise` for other expressions. */
function writtenInt(node: EstimatedNode | undefined, otherwise: number): number {
  const value = node?.expr?.kind === "literal" ? node.expr.value : undefined
  return typeof value === "number" || typeof value === "bigint" ? Math.max(0, Number(value)) : otherwise
}

const SETS: Readonly<Record<string, number>> = {
  list_sets_contains_list: 1,
  list_sets_intersects_list: 1,
  list_sets_equivalent_list: 2,
}

export function estimateLibraryCall(
  id: string,
  target: EstimatedNode | undefined,
  args: readonly EstimatedNode[],
): CallEstimate | undefined {
  const factor = SETS[id]
  if (factor !== undefined)
    return { cost: plus(scaled(times(sizeOrUnknown(args[0]!), sizeOrUnknown(args[1]!)), factor), exactly(1)) }
  const [, element, sort] = /^list_(.+)_(sort|sortByAssociatedKeys)$/.exec(id) ?? []
  const isText = element === "string" || element === "bytes"
  if (sort === "sort") return compared(sizeOrUnknown(target!), isText)
  if (sort !== undefined) return compared(sizeOrUnknown(args[0]!), isText)
  switch (id) {
    case "list_slice": {
      const end = writtenInt(args[1], sizeOrUnknown(target!).max)
      const length = end - writtenInt(args[0], 0)
      return newList(1, exactly(length < 0 ? BOUNDLESS : length))
    }
    case "lists_range":
      return newList(1, exactly(writtenInt(args[0], BOUNDLESS)))
    case "list_reverse":
      return newList(1, sizeOrUnknown(target!))
    case "list_flatten":
    case "list_flatten_int":
      return newList(args.length === 0 ? 1 : writtenInt(args[0], BOUNDLESS), sizeOrUnknown(target!))
    case "list_distinct": {
      const size = sizeOrUnknown(target!)
      return newList(2, times(size, size))
    }
    default:
      return undefined
  }
}
