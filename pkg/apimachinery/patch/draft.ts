import { isJsonObject } from "../json/json-value.ts"
import { setKey } from "../json/set-key.ts"

/**
 * An immutable JSON document while a patch changes it. A list or an object is copied at its first change and then
 * changed in place, so thousands of operations on a large document cost one copy of it. Parts that no operation touches
 * are shared with the original.
 */
export class Draft {
  #root: unknown
  /**
   * Lists and objects that only this draft refers to, each from one place. Those that contain an owned one are owned
   * too.
   */
  readonly #own = new Set<object>()
  /** How many more list items insertions and removals may shift. */
  #shifts = MOST_SHIFTS

  constructor(original: unknown) {
    this.#root = original
  }

  get root(): unknown {
    return this.#root
  }
  set root(value: unknown) {
    this.#root = value
  }

  /** Returns the value at the path; undefined when there is none. */
  at(steps: readonly string[]): unknown {
    let at = this.#root
    for (const step of steps) at = childOf(at, step)
    return at
  }

  /**
   * Returns the list or object that contains the last step of the path, ready for changes; undefined when it does not
   * exist.
   */
  holderOf(steps: readonly string[]): unknown[] | Record<string, unknown> | undefined {
    const parents = steps.slice(0, -1)
    if (!isContainer(this.at(parents))) return undefined
    let holder = this.#owned(this.#root as object)
    this.#root = holder
    for (const step of parents) {
      const child = this.#owned(childOf(holder, step) as object)
      if (Array.isArray(holder)) holder[indexOf(step, holder.length)] = child
      else setKey(holder, step, child)
      holder = child
    }
    return holder
  }

  /** Inserts into a list that `holderOf` returned. @throws RangeError when the patch shifts too many items in all */
  insert(list: unknown[], i: number, value: unknown): void {
    this.#shift(list.length - i)
    list.splice(i, 0, value)
  }

  /** Removes from a list that `holderOf` returned. @throws RangeError when the patch shifts too many items in all */
  removeAt(list: unknown[], i: number): void {
    this.#shift(list.length - i)
    list.splice(i, 1)
  }

  /**
   * Must be called for a value that is about to be put at a second place, so that a change at one place does not show
   * at the other.
   */
  share(value: unknown): void {
    // Values inside a value that is not owned are not owned either.
    if (!isContainer(value) || !this.#own.delete(value)) return
    for (const key in value) this.share((value as Record<string, unknown>)[key])
  }

  #owned(container: object): unknown[] | Record<string, unknown> {
    if (this.#own.has(container)) return container as unknown[] | Record<string, unknown>
    const copy: unknown[] | Record<string, unknown> = Array.isArray(container) ? [...container] : { ...container }
    this.#own.add(copy)
    return copy
  }

  #shift(items: number): void {
    this.#shifts -= items
    if (this.#shifts < 0)
      throw new RangeError(
        `Cannot apply the patch: its operations shift more than ${MOST_SHIFTS} list items; change items at the end of ` +
          "long lists",
      )
  }
}

/** The number of items that all insertions and removals of a patch may shift. It takes about a tenth of a second. */
const MOST_SHIFTS = 50_000_000

function childOf(at: unknown, step: string): unknown {
  if (Array.isArray(at)) return at[indexOf(step, at.length)]
  return isContainer(at) && Object.hasOwn(at, step) ? (at as Readonly<Record<string, unknown>>)[step] : undefined
}

const isContainer = (value: unknown): value is object => Array.isArray(value) || isJsonObject(value)

/** Parses a list index as Go does; negative ones count from the end. NaN when it is not a number. */
export function indexOf(step: string, length: number): number {
  if (!/^[+-]?\d+$/.test(step)) return NaN
  const i = Number(step)
  return i < 0 ? i + length : i
}
