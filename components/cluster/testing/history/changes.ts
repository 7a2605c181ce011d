/** One field that differs between two states of an object. */
export interface FieldChange {
  /** `spec.replicas`, `status.conditions[Ready].status`: items of a list by their name or type, else by index. */
  readonly path: string
  /** Undefined where the field was not there before. */
  readonly before: unknown
  /** Undefined where the field is gone. */
  readonly after: unknown
  /** `spec.replicas: 1 → 3` */
  toString(): string
}

/** Fields that differ at every write and tell nothing. */
const NOISE: ReadonlySet<string> = new Set(["metadata.managedFields", "metadata.resourceVersion"])

/** What tells items of a list apart, whatever their order. Source: the merge keys of the lists that have some. */
const ITEM_KEYS = ["name", "type", "uid"] as const

/**
 * The fields that differ, deepest first named: in the order of the newer state, those that are gone at the end of their
 * object.
 */
export function changesBetween(before: unknown, after: unknown, path = ""): readonly FieldChange[] {
  if (Object.is(before, after) || NOISE.has(path)) return []
  const [old, now] = itemsOf(before, after)
  if (old === undefined || now === undefined) return [change(path, before, after)]
  const names = new Set([...now.keys(), ...old.keys()])
  return [...names].flatMap((name) => {
    const inner = Array.isArray(after) ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`
    return changesBetween(old.get(name), now.get(name), inner)
  })
}

type Items = ReadonlyMap<string, unknown>

/** The members of two objects or two lists by name; nothing for what can only be compared as a whole. */
function itemsOf(before: unknown, after: unknown): readonly [Items?, Items?] {
  if (Array.isArray(before) && Array.isArray(after)) {
    const key = ITEM_KEYS.find((one) => isKey(one, before) && isKey(one, after))
    return [byKey(before, key), byKey(after, key)]
  }
  return isObject(before) && isObject(after) ? [new Map(Object.entries(before)), new Map(Object.entries(after))] : []
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Whether all items have a value of their own under this key. */
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
