import type { CelType } from "../type.ts"
import type { CelError, Value } from "../values/values.ts"

/**
 * The implementation of a function. It is not called with errors as arguments; the receiver is the first argument. The
 * type is that of a method, so that an implementation may declare exact types of its arguments: the planner has
 * compared the arguments with the overload's types before.
 */
export type Implementation = { call(...args: (Value | undefined)[]): Value }["call"]

export interface Overload {
  /** cel-go's name of the overload, by which costs are found. */
  readonly id: string
  /** Whether it is called as `target.f(…)`; the target is the first argument. */
  readonly member: boolean
  readonly args: readonly CelType[]
  readonly result: CelType
  /** Undefined when one implementation serves all overloads of the function, or the planner implements it. */
  readonly implementation?: Implementation
}

export interface FunctionDeclaration {
  readonly name: string
  readonly overloads: readonly Overload[]
  /** The implementation of all overloads, which examines the types of its arguments itself. */
  readonly singleton?: Implementation
  /**
   * Returns an implementation for a call with constant arguments, such as a pattern; arguments that are not constant
   * are undefined. An error refuses the expression; undefined means the usual implementation.
   */
  readonly prepare?: (
    constants: readonly (Value | undefined)[],
    overload: Overload,
  ) => Implementation | CelError | undefined
}

/** Declares an overload of a global function. */
export const overload = (
  id: string,
  args: readonly CelType[],
  result: CelType,
  implementation?: Implementation,
): Overload => ({ id, member: false, args, result, ...(implementation && { implementation }) })

/** Declares an overload of a member function; the first argument is the target. */
export const member = (
  id: string,
  args: readonly CelType[],
  result: CelType,
  implementation?: Implementation,
): Overload => ({ id, member: true, args, result, ...(implementation && { implementation }) })

export const declare = (
  name: string,
  overloads: readonly Overload[],
  singleton?: Implementation,
): FunctionDeclaration => ({ name, overloads, ...(singleton && { singleton }) })

/** Returns functions by name; the overloads of functions with the same name are joined. */
export function functionTable(declarations: readonly FunctionDeclaration[]): ReadonlyMap<string, FunctionDeclaration> {
  const table = new Map<string, FunctionDeclaration>()
  for (const declaration of declarations) {
    const before = table.get(declaration.name)
    if (before === undefined) {
      table.set(declaration.name, declaration)
      continue
    }
    table.set(declaration.name, {
      ...before,
      ...declaration,
      overloads: [...before.overloads, ...declaration.overloads],
    })
  }
  return table
}
