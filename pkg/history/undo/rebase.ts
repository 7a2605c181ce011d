import { deepEqual } from "../../apimachinery/json/equal.ts"
import { ownValue } from "../../apimachinery/json/set-key.ts"

/** A field that both the undone writes and a later one have changed. */
export interface FieldConflict {
  readonly path: string
  /** The value that undoing would restore. */
  readonly restored: unknown
  /** The value that the later write has set. */
  readonly kept: unknown
}

export interface Rebased {
  readonly value: unknown
  readonly conflicts: readonly FieldConflict[]
}

/** Which value counts where two writes have changed a field: that of the earlier state, or of the later write. */
export type Winner = "restored" | "kept"

/**
 * Makes the change from `before` to `after` on `value`, which may differ from `before`: a three-way merge. Where a
 * field differs from `before` and `after` changes it too, there is a conflict.
 */
export function rebase(value: unknown, before: unknown, after: unknown, winner: Winner): Rebased {
  const found: FieldConflict[] = []
  const note = (conflict: FieldConflict): unknown => {
    found.push(conflict)
    return conflict[winner]
  }
  return { value: rebased(value, before, after, "", note), conflicts: found }
}

/** Notes a conflict, and returns the value that counts. */
type Note = (conflict: FieldConflict) => unknown

function rebased(value: unknown, before: unknown, after: unknown, path: string, conflict: Note): unknown {
  if (deepEqual(before, after) || deepEqual(value, after)) return value
  if (deepEqual(value, before)) return after
  const maps = [value, before, after]
  if (maps.every((each) => each === undefined || isMap(each)) && isMap(after)) {
    const [own = {}, old = {}, now] = maps as [Fields | undefined, Fields | undefined, Fields]
    const keys = new Set([...Object.keys(own), ...Object.keys(now), ...Object.keys(old)])
    const merged = [...keys].map((key) => {
      const inner = path === "" ? key : `${path}.${key}`
      return [key, rebased(ownValue(own, key), ownValue(old, key), ownValue(now, key), inner, conflict)] as const
    })
    return Object.fromEntries(merged.filter(([, each]) => each !== undefined))
  }
  if (maps.every((each) => each === undefined || Array.isArray(each))) {
    const list = (each: unknown) => (each ?? []) as readonly unknown[]
    const lists = [list(value), list(before), list(after)] as const
    const key = ITEM_KEYS.find((one) => lists.every((list) => isKey(one, list)))
    if (key !== undefined) return rebasedList(lists, key, path, conflict)
  }
  return conflict({ path, restored: value, kept: after })
}

type Fields = Readonly<Record<string, unknown>>

/** The fields that identify items of lists, as in `changesBetween`. A text is an item by itself. */
const ITEM_KEYS = ["name", "type", "uid", "key", ""] as const

const isMap = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value)

const keyOf = (item: unknown, key: string): unknown => (key === "" ? item : isMap(item) ? item[key] : undefined)

function isKey(key: string, items: readonly unknown[]): boolean {
  const values = items.map((item) => keyOf(item, key))
  return values.every((value) => typeof value === "string") && new Set(values).size === values.length
}

/** The items of the value in their order, and behind them those that `after` has added. */
function rebasedList(
  lists: readonly [readonly unknown[], readonly unknown[], readonly unknown[]],
  key: string,
  path: string,
  conflict: Note,
): readonly unknown[] {
  const [own, old, now] = lists.map((list) => new Map(list.map((item) => [keyOf(item, key), item])))
  const keys = new Set([...own!.keys(), ...now!.keys(), ...old!.keys()])
  const merged = [...keys].map((each) =>
    rebased(own!.get(each), old!.get(each), now!.get(each), `${path}[${String(each)}]`, conflict),
  )
  return merged.filter((item) => item !== undefined)
}
