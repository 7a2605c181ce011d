import type { Expr } from "../syntax/ast.ts"
import type { CelType } from "../type.ts"
import { UNKNOWN, type Range } from "./range.ts"

/** What is known about an expression or about the items of a list before evaluation. */
export interface EstimatedNode {
  readonly type: CelType
  /** Absent for the items of a list. */
  readonly expr?: Expr
  /** Where the value comes from: a variable, then names of fields, `@items`, `@values` and `@keys`. */
  readonly path: readonly string[]
  readonly size: Range | undefined
}

/** Gives the size of a value by its path; undefined where the declared types do not tell. */
export type SizeOf = (path: readonly string[]) => Range | undefined

export interface CallEstimate {
  readonly cost: Range
  /** The size of the result, where it has one that is known. */
  readonly resultSize?: Range
}

export const sizeOrUnknown = (node: EstimatedNode): Range => node.size ?? UNKNOWN

/**
 * Sizes by the type of the variable `self`: a value at a path has at most the elements that its type declares. As
 * upstream, the first name of a path is not looked at: `oldSelf` has the type of `self`, and the names of types and
 * the items of lists that an expression writes count as if they were `self`. Source: apiextensions
 * pkg/apiserver/schema/cel/compilation.go sizeEstimator.
 */
export const sizesOf =
  (root: CelType | undefined): SizeOf =>
  ([, ...steps]) =>
    sizeAt(root, steps, (type, step) => type.fields?.get(step)?.type)

/**
 * The same of a variable that expressions name: nothing else has a size, and what a map may hold under any name is as
 * large as its type says. Source: dynamic-resource-allocation cel/compile.go sizeEstimator.
 */
export const sizesOfVariable =
  (name: string, root: CelType | undefined): SizeOf =>
  ([first, ...steps]) =>
    first === name
      ? sizeAt(root, steps, (type, step) => {
          if (type.kind !== "map") return type.fields?.get(step)?.type
          return type.params[1]!.kind === "dyn" ? type.params[1] : undefined
        })
      : undefined

function sizeAt(
  root: CelType | undefined,
  steps: readonly string[],
  fieldOf: (type: CelType, name: string) => CelType | undefined,
): Range | undefined {
  let type = root
  for (const step of steps) {
    if (type === undefined) return undefined
    if (step === "@items") type = type.kind === "list" ? type.params[0] : undefined
    else if (step === "@values") type = type.kind === "map" ? type.params[1] : undefined
    else if (step === "@keys") type = type.kind === "map" ? type.params[0] : undefined
    else type = fieldOf(type, step)
  }
  return type && { min: 0, max: type.maxElements }
}
