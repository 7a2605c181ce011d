import { ACCUMULATOR, type Comprehension } from "./ast.ts"

/** Whether a comprehension is a `bind`: it loops over nothing and only sets a variable. */
export const isBinding = ({ range, condition, accumulator }: Comprehension): boolean =>
  range.kind === "list" &&
  range.elements.length === 0 &&
  condition.kind === "literal" &&
  condition.value === false &&
  accumulator !== ACCUMULATOR
