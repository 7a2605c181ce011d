import type { Expr } from "../syntax/ast.ts"
import type { CelType } from "../type.ts"
import { UNKNOWN, type Range } from "./range.ts"

/** Information about the value of an expression, or about the items of a list, before evaluation. */
export interface EstimatedNode {
  readonly type: CelType
  /** Undefined for the items of a list. */
  readonly expr?: Expr
  /** Where the value comes from: a variable, then names of fields, `@items`, `@values` and `@keys`. */
  readonly path: readonly string[]
  readonly size: Range | undefined
}

/** Returns the size of the value at a path; undefined when the declared types do not limit it. */
export type SizeOf = (path: readonly string[]) => Range | undefined

export interface CallEstimate {
  readonly cost: Range
  /** The size of the result, if known. */
  readonly resultSize?: Range
}

export const sizeOrUnknown = (node: EstimatedNode): Range => node.size ?? UNKNOWN

/**
 * Returns the sizes according to the type of the variable `self`: a value has at most as many elements as the type at
 * its path declares. As upstream, the first name of a path is ignored: `oldSelf` has the type of `self`, and type names
 * and the items of lists that an expression writes count as if they were `self`. Source: apiextensions
 * pkg/apiserver/schema/cel/compilation.go sizeEstimator.
 */
export const sizesOf =
  (root: CelType | undefined): SizeOf =>
  ([, ...steps]) =>
    sizeAt(root, steps, (type, step) => type.fields?.get(step)?.type)

/**
 * Returns the sizes according to the type of the variable `name`: nothing else has a known size, and every value of a
 * map has the size that its type declares. Source: dynamic-resource-allocation cel/compile.go sizeEstimator.
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
