import { DYN, isOptional, listOf, mapOf, optionalOf, sameType, typeOf, type CelType } from "../type.ts"

/** The bindings of type variables. Source: cel-go checker/{types,mapping}.go. */
export class Bindings {
  #bound: Map<string, CelType>

  constructor(bound: ReadonlyMap<string, CelType> = new Map()) {
    this.#bound = new Map(bound)
  }

  find(type: CelType): CelType | undefined {
    return type.kind === "param" ? this.#bound.get(type.name) : undefined
  }

  bind(param: CelType, type: CelType): void {
    this.#bound.set(param.name, type)
  }

  /**
   * Whether each type in `from` is assignable to the type at the same index in `to`. Variables are bound only when all
   * are.
   */
  assignable(from: readonly CelType[], to: readonly CelType[]): boolean {
    const trial = new Bindings(this.#bound)
    if (!trial.#allAssignable(from, to)) return false
    this.#bound = trial.#bound
    return true
  }

  #allAssignable(from: readonly CelType[], to: readonly CelType[]): boolean {
    return from.length === to.length && from.every((type, i) => this.#assignable(type, to[i]!))
  }

  #assignable(from: CelType, to: CelType): boolean {
    if (to.kind === "param") {
      const { valid, bound } = this.#substitutes(from, to)
      if (valid) return true
      if (bound) return false
    }
    if (from.kind === "param") return this.#substitutes(to, from).valid
    if (isDynOrError(from) || isDynOrError(to)) return true
    if (from.kind === "null") return isNullable(to)
    if (to.kind === "null") return isNullable(from)
    switch (from.kind) {
      case "type":
        return to.kind === "type"
      case "opaque":
      case "list":
      case "map":
        return from.kind === to.kind && from.name === to.name && this.#allAssignable(from.params, to.params)
      default:
        return from.kind === to.kind && from.name === to.name
    }
  }

  /** Whether `variable` may be bound to `type`, and whether it was bound before. */
  #substitutes(type: CelType, variable: CelType): { valid: boolean; bound: boolean } {
    if (type.kind === variable.kind && sameType(type, variable)) return { valid: true, bound: true }
    const before = this.find(variable)
    if (before === undefined) {
      if (!this.#isFreeOf(variable, type)) return { valid: false, bound: false }
      this.bind(variable, type)
      return { valid: true, bound: false }
    }
    if (type.kind === before.kind && sameType(type, before)) return { valid: true, bound: true }
    if (!this.#assignable(type, before)) return { valid: false, bound: true }
    const general = mostGeneral(type, before)
    if (this.#isFreeOf(variable, general)) this.bind(variable, general)
    return { valid: true, bound: true }
  }

  /** Whether `variable` does not occur in `type`. */
  #isFreeOf(variable: CelType, type: CelType): boolean {
    if (sameType(variable, type)) return false
    if (type.kind === "param") {
      const bound = this.find(type)
      return bound === undefined || this.#isFreeOf(variable, bound)
    }
    return type.params.every((param) => this.#isFreeOf(variable, param))
  }

  /** Replaces the variables in a type by their bindings; unbound ones stay, or become dyn. */
  substitute(type: CelType, unboundToDyn: boolean): CelType {
    const bound = this.find(type)
    if (bound !== undefined) return this.substitute(bound, unboundToDyn)
    if (type.kind === "param") return unboundToDyn ? DYN : type
    if (type.params.length === 0) return type
    const params = type.params.map((param) => this.substitute(param, unboundToDyn))
    return params.every((param, i) => param === type.params[i]) ? type : withParams(type, params)
  }
}

function withParams(type: CelType, params: readonly CelType[]): CelType {
  if (type.kind === "list") return listOf(params[0]!, type.maxElements, type.listType)
  if (type.kind === "map") return mapOf(params[0]!, params[1]!, type.maxElements)
  if (type.kind === "type") return typeOf(params[0]!)
  return isOptional(type) ? optionalOf(params[0]!) : { ...type, params }
}

export const isDynOrError = (type: CelType): boolean => type.kind === "dyn" || type.kind === "error"

const isNullable = (type: CelType): boolean => ["null", "opaque", "object", "duration", "timestamp"].includes(type.kind)

/** Returns the more general of two types that unify. */
export const mostGeneral = (a: CelType, b: CelType): CelType => (saysNoMore(a, b) ? a : b)

function saysNoMore(a: CelType, b: CelType): boolean {
  if (a.kind === "dyn" || a.kind === "param") return true
  if (b.kind === "dyn" || b.kind === "param" || a.kind !== b.kind) return false
  if (a.kind === "type") return true
  return (
    a.name === b.name &&
    a.params.length === b.params.length &&
    a.params.every((param, i) => saysNoMore(param, b.params[i]!))
  )
}
