import { ACCUMULATOR, type Comprehension } from "./ast.ts"

/** Whether a comprehension only gives a variable its value: it loops over nothing. */
export const isBinding = ({ range, condition, accumulator }: Comprehension): boolean =>
  range.kind === "list" &&
  range.elements.length === 0 &&
  condition.kind === "literal" &&
  condition.value === false &&
  accumulator !== ACCUMULATOR
