import { isJsonObject } from "../../json/json-value.ts"
import { canonicalJson } from "../../json/raw-json.ts"
import { RecentValues } from "../../../cache/recent-values.ts"
import { LEAF, SELF, type FieldSet } from "./fieldset.ts"

/** The canonical form of each known set (which may be the set itself), since the same sets return with every write. */
const known = new RecentValues<FieldSet, FieldSet>()

/**
 * Returns the set with its elements in upstream's order, so that its JSON and protobuf have the same bytes as
 * upstream's; the same object when it is in order. The set must be well-formed. Source: structured-merge-diff
 * fieldpath/{element,serialize}.go, value/value.go Compare.
 */
export function canonicalSet(set: FieldSet): FieldSet {
  let made = known.get(set)
  if (made === undefined) {
    made = inOrder(set)
    known.set(set, made)
    if (made !== set) known.set(made, made)
  }
  return made
}

function inOrder(node: FieldSet): FieldSet {
  let isSorted = true
  let arePlain = true
  let areRenamed = false
  let last: string | undefined
  /** The parts that are not in order, by what they were. Most sets have none, and then nothing is allocated. */
  let reordered: Map<FieldSet, FieldSet> | undefined
  // The items of a list mostly share one set.
  let lastChild = LEAF
  for (const element in node) {
    const child = node[element]!
    if (child !== lastChild && child !== LEAF) {
      const ordered = inOrder(child)
      if (ordered !== child) reordered = (reordered ?? new Map<FieldSet, FieldSet>()).set(child, ordered)
      lastChild = child
    }
    areRenamed ||= canonicalElement(element) !== element
    const isPlainHere = element.startsWith("f:") || element === SELF || isPlain(element)
    isSorted &&= last === undefined || (isPlainHere && arePlain ? last < element : compareElements(last, element) < 0)
    arePlain &&= isPlainHere
    last = element
  }
  if (isSorted && !areRenamed && reordered === undefined) return node
  const out: Record<string, FieldSet> = {}
  for (const element of isSorted && !areRenamed ? Object.keys(node) : sortedElements(Object.keys(node), arePlain)) {
    const child = node[element]!
    out[areRenamed ? canonicalElement(element) : element] = reordered?.get(child) ?? child
  }
  return out
}

/** The order of plain elements is that of their texts: `.` for the node itself, `f:`, `k:`, `v:`. */
const sortedElements = (elements: string[], arePlain: boolean): readonly string[] =>
  arePlain ? elements.sort() : (byNumber(elements) ?? elements.sort(comparing()))

/** Returns elements that are all integers in their order; undefined where some are not. */
function byNumber(elements: readonly string[]): readonly string[] | undefined {
  if (!elements.every((element) => INTEGER.test(element))) return undefined
  // Fifteen digits are exact.
  const numbers = Float64Array.from(elements, (element) => Number(element.slice(2))).sort()
  return Array.from(numbers, (number) => `v:${number}`)
}
const INTEGER = /^v:(?:0|-?[1-9]\d{0,14})$/

/** Sorts the names in a key. */
function canonicalElement(element: string): string {
  // A key without a comma has one name only, as most keys do.
  if (!element.startsWith("k:") || !element.includes(",")) return element
  const key: unknown = JSON.parse(element.slice(2))
  const names = Object.keys(key as object)
  return names.length > 1 && names.some((name, i) => i > 0 && names[i - 1]! > name)
    ? `k:${canonicalJson(key)}`
    : element
}

const KINDS = ".fkvi"

/** Returns the order of elements, in which names of keys are sorted. Each value in them is parsed once. */
function comparing(): (a: string, b: string) => number {
  const parsed = new Map<string, unknown>()
  const names = new Map<string, string>()
  const valueOf = (element: string): unknown => {
    if (!parsed.has(element)) parsed.set(element, valueIn(element))
    return parsed.get(element)
  }
  const nameOf = (element: string): string => {
    const known = names.get(element)
    if (known !== undefined) return known
    const name = canonicalElement(element)
    names.set(element, name)
    return name
  }
  return (a, b) => compareElements(nameOf(a), nameOf(b), valueOf)
}

const valueIn = (element: string): unknown => JSON.parse(element.slice(2))

function compareElements(a: string, b: string, valueOf = valueIn): number {
  if (a[0] !== b[0]) return KINDS.indexOf(a[0]!) - KINDS.indexOf(b[0]!)
  if (a === b || a === SELF) return 0
  // Both begin with the same two characters.
  if (a[0] === "f" || (isPlain(a) && isPlain(b))) return compareTexts(a, b)
  return a[0] === "i" ? Number(a.slice(2)) - Number(b.slice(2)) : compareValues(valueOf(a), valueOf(b))
}

/**
 * Whether the element is a text value, or a key with one name and a text value, such as `k:{"type":"Ready"}`, whose
 * characters all sort after the quotation mark: such elements have the order of their values. Parsing each as JSON took
 * a sixth of the time for managedFields.
 */
const isPlain = (element: string): boolean => PLAIN.test(element)
const PLAIN = /^(?:v:"[#-[\]-~]*"|k:\{"[#-[\]-~]*":"[#-[\]-~]*"\})$/

const TYPES = ["number", "string", "boolean", "list", "map", "null"]
const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "list" : typeof value === "object" ? "map" : typeof value

/** Orders values: numbers, then strings, booleans, lists, maps and null. */
function compareValues(a: unknown, b: unknown): number {
  const [left, right] = [TYPES.indexOf(typeOf(a)), TYPES.indexOf(typeOf(b))]
  if (left !== right) return left - right
  if (typeof a === "number" && typeof b === "number") return a - b
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b)
  if (typeof a === "boolean") return Number(a) - Number(b)
  if (Array.isArray(a) && Array.isArray(b)) return compareAll(a, b)
  return isJsonObject(a) && isJsonObject(b) ? compareAll(flat(a), flat(b)) : 0
}

const flat = (map: Readonly<Record<string, unknown>>): readonly unknown[] =>
  Object.entries(map)
    .sort(([a], [b]) => compareTexts(a, b))
    .flat()

function compareAll(a: readonly unknown[], b: readonly unknown[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const order = compareValues(a[i], b[i])
    if (order !== 0) return order
  }
  return a.length - b.length
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
