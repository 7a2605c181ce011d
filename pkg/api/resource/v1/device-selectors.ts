import type { Device, DeviceAttribute } from "./device.ts"
import type { DeviceSelector } from "./deviceclaim.ts"
import { compileDeviceExpression } from "./device-expression.ts"
import { compile } from "../../../cel/compile.ts"
import type { PatternBudget } from "../../../re2/limits.ts"
import type { Program } from "../../../cel/program.ts"
import { QUANTITY, SEMVER, STRING, type CelType } from "../../../cel/type.ts"
import { CelError, MapValue, type Value } from "../../../cel/values/values.ts"

/** Why a selector could not be asked about a device: the pod is tried again, and told so. */
export class SelectorError extends Error {
  override readonly name = "SelectorError"
}

/** Expressions that are kept compiled; emptied when full. */
const MOST_KEPT = 500
/** What one evaluation may cost. Source: resource/v1 CELSelectorExpressionMaxCost. */
const MOST_COST = 1_000_000

/**
 * Asks expressions about devices. They are compiled once for all pods. Source: dynamic-resource-allocation
 * cel/{compile,cache}.go.
 */
export class DeviceSelectors {
  readonly #compiled = new Map<string, Program>()
  readonly #semver = conversion("semver(text)", SEMVER)
  readonly #quantity = conversion("quantity(text)", QUANTITY)

  /** Whether the device meets all of the selectors. @throws SelectorError, also when `patterns` is used up */
  match(selectors: readonly DeviceSelector[], driver: string, device: Device, patterns: PatternBudget): boolean {
    if (selectors.length === 0) return true
    const activation = { device: this.#valueOf(driver, device) }
    return selectors.every(({ cel }, i) => {
      const expression = cel?.expression ?? ""
      const { value } = this.#programOf(expression, i).evaluate(activation, { budget: MOST_COST, patterns })
      if (value instanceof CelError) throw new SelectorError(`selector #${i}: CEL runtime error: ${value.message}`)
      if (typeof value !== "boolean")
        throw new SelectorError(`selector #${i}: CEL runtime error: CEL expression did not evaluate to a boolean`)
      return value
    })
  }

  #programOf(expression: string, i: number): Program {
    const known = this.#compiled.get(expression)
    if (known !== undefined) return known
    const made = compileDeviceExpression(expression)
    if (typeof made === "string") throw new SelectorError(`selector #${i}: CEL compile error: ${made}`)
    if (this.#compiled.size >= MOST_KEPT) this.#compiled.clear()
    this.#compiled.set(expression, made)
    return made
  }

  #valueOf(driver: string, { attributes = {}, capacity = {}, allowMultipleAllocations = false }: Device): object {
    return {
      driver,
      allowMultipleAllocations,
      attributes: new Domains(byDomain(attributes, driver, (attribute) => this.#attribute(attribute))),
      capacity: new Domains(byDomain(capacity, driver, ({ value }) => this.#quantity(value))),
    }
  }

  #attribute({ int, bool, string, version }: DeviceAttribute): Value {
    const value = int ?? bool ?? string
    if (value !== undefined) return value
    return version === undefined ? new CelError("unsupported attribute value") : this.#semver(version)
  }
}

/** Gives values of Kubernetes' own types, which only the language itself can make. */
function conversion(expression: string, type: CelType): (text: string) => Value {
  let program: Program | undefined
  return (text) => {
    if (program === undefined) {
      const made = compile(expression, { variables: { text: STRING } })
      if (!("program" in made)) throw new Error(`Cannot make values of the type ${type.name}: compilation failed`)
      program = made.program
    }
    return program.evaluate({ text }).value
  }
}

/** Names without a domain are in that of the driver. */
function byDomain<T>(
  named: Readonly<Record<string, T>>,
  driver: string,
  valueOf: (value: T) => Value,
): ReadonlyMap<string, Entries> {
  const domains = new Map<string, Map<string, Value>>()
  for (const [name, value] of Object.entries(named)) {
    const slash = name.indexOf("/")
    const domain = slash < 0 ? driver : name.slice(0, slash)
    let entries = domains.get(domain)
    if (entries === undefined) domains.set(domain, (entries = new Map()))
    entries.set(name.slice(slash + 1), valueOf(value))
  }
  return new Map([...domains].map(([domain, entries]) => [domain, new Entries(entries)]))
}

/** A map by texts. */
class Entries<V extends Value = Value> extends MapValue {
  protected readonly entries: ReadonlyMap<string, V>
  constructor(entries: ReadonlyMap<string, V>) {
    super()
    this.entries = entries
  }
  get size(): number {
    return this.entries.size
  }
  find(key: Value): Value | undefined {
    return typeof key === "string" ? this.entries.get(key) : undefined
  }
  keys(): Iterable<Value> {
    return this.entries.keys()
  }
}

/** The domains of a device: one that it does not have is there and empty, so that expressions can ask for its names. */
class Domains extends Entries<Entries> {
  override find(key: Value): Value | undefined {
    return super.find(key) ?? NOTHING
  }
  override has(key: Value): boolean {
    return super.find(key) !== undefined
  }
}
const NOTHING = new Entries(new Map())
