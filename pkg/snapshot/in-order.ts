import type { Clock } from "../clock/clock.ts"
import { nextTurn } from "../clock/next-turn.ts"

/** The number of objects that are sorted in one turn of the event loop; takes less than a millisecond. */
const RUN = 2048

/** A sorted part of the objects, and the index of the next one. */
interface Run<T> {
  readonly objects: readonly T[]
  at: number
}

/**
 * Yields objects in the order of their revisions. Sorting a hundred thousand at once would block the event loop, and so
 * every write, for tens of milliseconds. So parts of them are sorted, with pauses between, and merged while they are
 * read.
 */
export async function* inOrder<T extends { readonly revision: number }>(
  objects: readonly T[],
  clock: Clock,
): AsyncGenerator<T> {
  const heap: Run<T>[] = []
  for (let from = 0; from < objects.length; from += RUN) {
    const run = objects.slice(from, from + RUN).sort((a, b) => a.revision - b.revision)
    heap.push({ objects: run, at: 0 })
    await nextTurn(clock)
  }
  for (let root = heap.length >> 1; root-- > 0;) sink(heap, root)
  while (heap.length > 0) {
    const first = heap[0]!
    yield first.objects[first.at++]!
    if (first.at === first.objects.length) {
      const last = heap.pop()!
      if (heap.length > 0) heap[0] = last
    }
    sink(heap, 0)
  }
}

const nextOf = <T extends { readonly revision: number }>({ objects, at }: Run<T>): number => objects[at]!.revision

/** Moves a run down in the heap until no run below it has an earlier object. */
function sink<T extends { readonly revision: number }>(heap: Run<T>[], root: number): void {
  for (let at = root; ;) {
    let least = at
    for (const child of [2 * at + 1, 2 * at + 2])
      if (child < heap.length && nextOf(heap[child]!) < nextOf(heap[least]!)) least = child
    if (least === at) return
    ;[heap[at], heap[least]] = [heap[least]!, heap[at]!]
    at = least
  }
}
