import type * as Jsc from "bun:jsc"

/**
 * The API of Bun's JavaScript engine. Undefined under Deno, where test clusters run too and the engine decides alone.
 */
const engine = process.getBuiltinModule("bun:jsc") as typeof Jsc | undefined

/**
 * A full collection runs when the heap has grown by this factor, and by at least `LEAST_BYTES`, since the last one: for
 * a small heap it is not worth its time.
 */
const GROWTH = 1.25
const LEAST_BYTES = 32 * 2 ** 20

/** The engine alone decides about a heap of less than this many bytes, which takes little memory in any case. */
const SMALL_BYTES = 128 * 2 ** 20

/**
 * Returns a function that keeps garbage small in proportion to the live heap. Each call collects young objects; a call
 * after enough growth collects the whole heap. The engine by itself lets the heap become twice the live heap before a
 * full collection. Its pages then hold a few live objects each and are never given back, which decides how much memory
 * a process with a very large heap needs.
 */
export function garbageCollector(): () => void {
  if (engine === undefined) return () => {}
  const { edenGC, fullGC, heapSize } = engine
  let alive = 0
  let size = 0
  return () => {
    // The size is asked for only while it is small: the engine looks at each block of the heap to tell it.
    if (size < SMALL_BYTES) size = heapSize()
    if (size < SMALL_BYTES) return
    size = edenGC()
    if (size > alive * GROWTH + LEAST_BYTES) size = alive = fullGC()
  }
}
