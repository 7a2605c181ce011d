import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { SortKey } from "./framework.ts"
import type { QueuedPod } from "./queued-pod.ts"

/** A pod in the heap, with what orders it. Pods never change their priority. */
interface Ranked {
  readonly queued: QueuedPod
  readonly key: SortKey | undefined
  readonly priority: number
  readonly added: number
  /** Rises with each push. */
  readonly order: number
}

/** A binary heap of pods: the highest priority first, then the pod that was added to the queue first. */
export class PriorityQueue {
  readonly #heap: Ranked[] = []
  readonly #known = new Map<string, QueuedPod>()
  #order = 0

  get size(): number {
    return this.#known.size
  }

  push(queued: QueuedPod, key: SortKey | undefined): void {
    const { metadata, spec } = queued.pod
    const uid = metadata.uid ?? ""
    if (this.#known.has(uid)) return
    this.#known.set(uid, queued)
    const heap = this.#heap
    const ranked: Ranked = { queued, key, priority: spec.priority ?? 0, added: queued.added, order: this.#order++ }
    let at = heap.push(ranked) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(ranked, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = ranked
  }

  pop(): QueuedPod | undefined {
    for (;;) {
      const top = this.#heap[0]?.queued
      if (top === undefined) return undefined
      const last = this.#heap.pop()!
      if (this.#heap.length > 0) this.#sink(last)
      const uid = top.pod.metadata.uid ?? ""
      if (this.#known.get(uid) !== top) continue // was removed meanwhile
      this.#known.delete(uid)
      return top
    }
  }

  replace(pod: Pod): boolean {
    const queued = this.#known.get(pod.metadata.uid ?? "")
    if (queued !== undefined) queued.pod = pod
    return queued !== undefined
  }

  remove(uid: string): void {
    this.#known.delete(uid)
  }

  take(uid: string): QueuedPod | undefined {
    const queued = this.#known.get(uid)
    this.#known.delete(uid)
    return queued
  }

  clear(): void {
    this.#heap.length = 0
    this.#known.clear()
  }

  /** Puts an item in the place of the top, and moves it down to where it belongs. */
  #sink(item: Ranked): void {
    const heap = this.#heap
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, item)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = item
  }
}

const isBefore = (a: Ranked, b: Ranked): boolean =>
  a.key === b.key ? isBeforeByDefault(a, b) : (compareKeys(a.key, b.key) || (isBeforeByDefault(a, b) ? -1 : 1)) < 0

/** Returns a number below 0 where `a` comes first, and 0 for equal keys. Pods without a key come last. */
function compareKeys(a: SortKey | undefined, b: SortKey | undefined): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const [x, y] = [a[i] ?? "", b[i] ?? ""]
    if (x !== y) return typeof x === typeof y ? (x < y ? -1 : 1) : typeof x === "number" ? -1 : 1
  }
  return 0
}

const isBeforeByDefault = (a: Ranked, b: Ranked): boolean =>
  a.priority !== b.priority ? a.priority > b.priority : a.added !== b.added ? a.added < b.added : a.order < b.order
