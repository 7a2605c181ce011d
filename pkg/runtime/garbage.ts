import type * as Jsc from "bun:jsc"

/** The engine under Bun. Test clusters run under Deno too, which has another and leaves garbage to it. */
const engine = process.getBuiltinModule("bun:jsc") as typeof Jsc | undefined

/**
 * All is looked at when this much more than at the last time is left, and at least so many bytes: of a small heap it is
 * not worth it.
 */
const GROWTH = 1.25
const LEAST_BYTES = 32 * 2 ** 20

/**
 * Gives what keeps garbage little beside what is alive, each time it is called: new objects are looked at, and now and
 * then all. The engine by itself lets the heap become twice what is alive before it looks at all of it; its pages then
 * hold a little of each and are never given back, which for a very large heap is what decides how much memory the
 * process needs.
 */
export function garbageCollector(): () => void {
  if (engine === undefined) return () => {}
  const { edenGC, fullGC } = engine
  let alive = 0
  return () => {
    if (edenGC() > alive * GROWTH + LEAST_BYTES) alive = fullGC()
  }
}
