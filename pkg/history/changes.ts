/** One field that differs between two states of an object. */
export interface FieldChange {
  /** `spec.replicas`, `status.conditions[Ready].status`: list items by name or type, else by index. */
  readonly path: string
  /** Undefined when the field was absent before. */
  readonly before: unknown
  /** Undefined when the field was removed. */
  readonly after: unknown
  /** `spec.replicas: 1 → 3` */
  toString(): string
}

/** Fields that differ at every write. */
const NOISE: ReadonlySet<string> = new Set(["metadata.managedFields", "metadata.resourceVersion"])

/** The fields that identify list items. Source: the merge keys of the lists that have some. */
const ITEM_KEYS = ["name", "type", "uid"] as const

/** The longest path of a field, in characters; what differs below is one change of the whole. */
const LONGEST_PATH = 1000

/**
 * Returns the fields that differ, innermost paths only: in the order of the newer state, and removed fields at the end
 * of their object.
 */
export function changesBetween(before: unknown, after: unknown, path = ""): readonly FieldChange[] {
  if (Object.is(before, after) || NOISE.has(path)) return []
  const [old, now] = itemsOf(before, after)
  if (old === undefined || now === undefined || path.length > LONGEST_PATH) return [change(path, before, after)]
  const names = new Set([...now.keys(), ...old.keys()])
  return [...names].flatMap((name) => {
    const inner = Array.isArray(after) ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`
    return changesBetween(old.get(name), now.get(name), inner)
  })
}

type Items = ReadonlyMap<string, unknown>

/** Returns the members of two objects or two lists by name; nothing for values that can only be compared as a whole. */
function itemsOf(before: unknown, after: unknown): readonly [Items?, Items?] {
  if (Array.isArray(before) && Array.isArray(after)) {
    const key = ITEM_KEYS.find((one) => isKey(one, before) && isKey(one, after))
    return [byKey(before, key), byKey(after, key)]
  }
  return isObject(before) && isObject(after) ? [new Map(Object.entries(before)), new Map(Object.entries(after))] : []
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Whether all items have distinct values under this key. */
function isKey(key: string, items: readonly unknown[]): boolean {
  const values = items.map((item) => (isObject(item) ? item[key] : undefined))
  return values.every((value) => typeof value === "string") && new Set(values).size === values.length
}

const byKey = (items: readonly unknown[], key: string | undefined): Items =>
  new Map(items.map((item, index) => [key !== undefined && isObject(item) ? String(item[key]) : String(index), item]))

const change = (path: string, before: unknown, after: unknown): FieldChange => ({
  path,
  before,
  after,
  toString: () => `${path}: ${inWords(before)} → ${inWords(after)}`,
})

const inWords = (value: unknown): string => (value === undefined ? "nothing" : JSON.stringify(value))
