import { int64Of } from "../go/go-text.ts"

type Labels = Readonly<Record<string, string>>
/** A requirement of `labels.ts`. */
interface Requirement {
  readonly key: string
  readonly operator: string
  readonly values: readonly string[]
}

/** Bounds that no number of 64 bits meets, for values that are no numbers. */
const [NONE_ABOVE, NONE_BELOW] = [2n ** 63n - 1n, -(2n ** 63n)]

/** Selectors with more requirements and values than this are made into conditions by key. */
const FEW = 16

/**
 * Returns what decides whether labels meet all requirements. A client may send thousands of requirements, to be asked
 * of thousands of objects: those are joined by key before, so that an object costs as much as it has labels.
 */
export function labelConditions<R extends Requirement>(
  requirements: readonly R[],
  holds: (requirement: R, labels: Labels) => boolean,
): (labels: Labels) => boolean {
  if (requirements.reduce((sum, { values }) => sum + 1 + values.length, 0) <= FEW)
    return (labels) => requirements.every((requirement) => holds(requirement, labels))
  const byKey = new Map<string, Condition>()
  for (const requirement of requirements) {
    let condition = byKey.get(requirement.key)
    if (condition === undefined) byKey.set(requirement.key, (condition = new Condition()))
    condition.add(requirement)
  }
  const wanted = [...byKey].filter(([, { isWanted }]) => isWanted)
  const others = new Map([...byKey].filter(([, { isWanted }]) => !isWanted))
  return (labels) => {
    // The first missing label ends this, so it takes no longer than there are labels.
    for (const [key, condition] of wanted)
      if (!Object.hasOwn(labels, key) || !condition.allows(labels[key]!)) return false
    if (others.size > 0)
      for (const key in labels) {
        const condition = others.get(key)
        if (condition !== undefined && !condition.allows(labels[key]!)) return false
      }
    return true
  }
}

/** All requirements of one key. */
class Condition {
  /** Whether the label must exist. */
  isWanted = false
  #isUnwanted = false
  /** The values of which the label must have one. */
  #allowed: ReadonlySet<string> | undefined
  readonly #refused = new Set<string>()
  #above: bigint | undefined
  #below: bigint | undefined

  add({ operator, values }: Requirement): void {
    if (operator === "!") this.#isUnwanted = true
    else if (operator === "!=" || operator === "notin") for (const value of values) this.#refused.add(value)
    else {
      this.isWanted = true
      if (operator === "=" || operator === "==" || operator === "in") this.#allow(values)
      else if (operator === "gt") this.#above = largest(this.#above, int64Of(values[0]!) ?? NONE_ABOVE)
      else if (operator === "lt") this.#below = smallest(this.#below, int64Of(values[0]!) ?? NONE_BELOW)
    }
  }

  /** Whether a label may have the value; not for a label that does not exist. */
  allows(value: string): boolean {
    if (this.#isUnwanted || this.#refused.has(value) || this.#allowed?.has(value) === false) return false
    if (this.#above === undefined && this.#below === undefined) return true
    const number = int64Of(value)
    if (number === undefined) return false
    return (this.#above === undefined || number > this.#above) && (this.#below === undefined || number < this.#below)
  }

  #allow(values: readonly string[]): void {
    const before = this.#allowed
    this.#allowed = new Set(before === undefined ? values : values.filter((value) => before.has(value)))
  }
}

const largest = (a: bigint | undefined, b: bigint): bigint => (a !== undefined && a > b ? a : b)
const smallest = (a: bigint | undefined, b: bigint): bigint => (a !== undefined && a < b ? a : b)
