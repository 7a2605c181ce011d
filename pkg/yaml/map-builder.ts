import { ExactNumber } from "../apimachinery/json/exact-number.ts"
import { setKey } from "../apimachinery/json/set-key.ts"
import { YamlError } from "./cursor.ts"

interface Part {
  readonly value: unknown
  readonly line: number
}

/** The number of duplicate keys that are reported. */
const MOST_DUPLICATES = 100
const NOT_A_MAP = "yaml: map merge requires map or sequence of maps as the value"

/** Builds a map pair by pair. Keys become text, as in JSON; of two equal keys the later one counts. */
export class MapBuilder {
  readonly object: Record<string, unknown> = {}
  readonly #duplicates: string[]

  /** Adds keys that occur twice to `duplicates`. */
  constructor(duplicates: string[]) {
    this.#duplicates = duplicates
  }

  set(key: Part & { readonly merges: boolean }, { value, line }: Part): void {
    if (key.merges) this.#merge(value, line)
    else this.#add(keyOf(key.value, value), value, line, key.value)
  }

  #add(key: string, value: unknown, line: number, shown: unknown): void {
    if (Object.hasOwn(this.object, key) && this.#duplicates.length < MOST_DUPLICATES)
      this.#duplicates.push(`line ${line + 1}: key ${JSON.stringify(shown)} already set in map`)
    setKey(this.object, key, value)
  }

  /**
   * Merges the value of a `<<` key. It overrides earlier keys; of several merged maps the first overrides the others.
   */
  #merge(value: unknown, line: number): void {
    for (const map of Array.isArray(value) ? value.toReversed() : [value]) {
      if (!isMap(map)) throw new YamlError(NOT_A_MAP)
      for (const key in map) this.#add(key, map[key], line, key)
    }
  }
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * Returns a key as text. Source: sigs.k8s.io/yaml convertToJSONableObject.
 * @throws YamlError for a value that cannot be a key in JSON
 */
function keyOf(key: unknown, value: unknown): string {
  switch (typeof key) {
    case "string":
      return key
    case "boolean":
      return String(key)
    case "number":
      return Number.isInteger(key) ? String(key) : floatKey(key)
    default:
  }
  if (key === null)
    throw new YamlError(`unsupported map key of type: %!s(<nil>), key: <nil>, value: ${JSON.stringify(value)}`)
  if (key instanceof ExactNumber) return key.text
  throw new YamlError(`yaml: invalid map key: ${JSON.stringify(key)}`)
}

function floatKey(key: number): string {
  if (Number.isNaN(key)) return ".nan"
  if (!Number.isFinite(key)) return key > 0 ? ".inf" : "-.inf"
  const single = Math.fround(key)
  // The fewest digits that distinguish it from other 32-bit numbers.
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(single.toPrecision(digits))
    if (Math.fround(short) === single) return String(short)
  }
  return String(single)
}
