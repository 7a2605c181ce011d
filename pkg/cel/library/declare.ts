import type { CelType } from "../type.ts"
import type { CelError, Value } from "../values.ts"

/**
 * The implementation of a function: its arguments are no errors, and a receiver is the first of them. Declared as a
 * method, so that an implementation may name the exact types of its arguments: the planner has held the arguments
 * against the overload's types before.
 */
export type Implementation = { call(...args: (Value | undefined)[]): Value }["call"]

export interface Overload {
  /** cel-go's name, by which costs are found. */
  readonly id: string
  /** Called as `target.f(…)`; the target is the first argument. */
  readonly member: boolean
  readonly args: readonly CelType[]
  readonly result: CelType
  /** Absent where the function has one implementation for all overloads, or the planner has its own way. */
  readonly implementation?: Implementation
}

export interface FunctionDeclaration {
  readonly name: string
  readonly overloads: readonly Overload[]
  /** One implementation for all overloads, which tells the types of its arguments by itself. */
  readonly singleton?: Implementation
  /**
   * Makes the implementation for a call some of whose arguments are known beforehand (undefined where not), such as a
   * pattern; an error refuses the expression. Undefined: the usual implementation serves.
   */
  readonly prepare?: (
    constants: readonly (Value | undefined)[],
    overload: Overload,
  ) => Implementation | CelError | undefined
}

/** A global function's overload. */
export const overload = (
  id: string,
  args: readonly CelType[],
  result: CelType,
  implementation?: Implementation,
): Overload => ({ id, member: false, args, result, ...(implementation && { implementation }) })

/** A member function's overload; the first argument is the target. */
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

/** Functions by name; the overloads of functions of one name are joined. */
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
