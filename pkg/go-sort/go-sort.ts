/**
 * Sorts a list in place as Go's sort.Sort does, so that elements that are equal come in the same order as there: that
 * sort is not stable. `isLess` need not be consistent. Source of the order: Go sort package (pdqsort: insertion sort
 * of short runs, quicksort with a median of nine, heap sort after bad pivots); https://arxiv.org/abs/2106.05123.
 */
export function goSort<T>(list: T[], isLess: (a: T, b: T) => boolean): void {
  if (list.length > 1) new Sort(list, isLess).sort(0, list.length, bitLength(list.length))
}

const bitLength = (value: number): number => 32 - Math.clz32(value)

/** Shorter runs are sorted by insertion. */
const SHORT = 12
/** From this length, a pivot is the median of nine elements instead of three. */
const LONG = 50
/** As many as a median of nine can have. */
const MOST_SWAPS = 12
/** A run that needs more repairs than these is not nearly sorted. */
const MOST_REPAIRS = 5

type Hint = "increasing" | "decreasing" | "unknown"

class Sort<T> {
  readonly #list: T[]
  readonly #isLess: (a: T, b: T) => boolean
  #swaps = 0

  constructor(list: T[], isLess: (a: T, b: T) => boolean) {
    this.#list = list
    this.#isLess = isLess
  }

  /** Sorts the elements from `from` to before `to`. After `limit` bad pivots the heap sort takes over. */
  sort(from: number, to: number, limit: number): void {
    let [start, end, left] = [from, to, limit]
    let [wasBalanced, wasPartitioned] = [true, true]
    for (;;) {
      const length = end - start
      if (length <= SHORT) return this.#insertionSort(start, end)
      if (left === 0) return this.#heapSort(start, end)
      if (!wasBalanced) {
        this.#breakPatterns(start, end)
        left--
      }
      let { pivot, hint } = this.#choosePivot(start, end)
      if (hint === "decreasing") {
        this.#reverse(start, end)
        pivot = end - 1 - (pivot - start)
        hint = "increasing"
      }
      if (wasBalanced && wasPartitioned && hint === "increasing" && this.#repair(start, end)) return
      // The element before the run equals the pivot: so do many, which need no more sorting.
      if (start > 0 && !this.#less(start - 1, pivot)) {
        start = this.#partitionEqual(start, end, pivot)
        continue
      }
      const { middle, isUnchanged } = this.#partition(start, end, pivot)
      wasPartitioned = isUnchanged
      const [before, after] = [middle - start, end - middle]
      wasBalanced = Math.min(before, after) >= Math.floor(length / 8)
      // The shorter side first, so that the stack stays small.
      if (before < after) {
        this.sort(start, middle, left)
        start = middle + 1
      } else {
        this.sort(middle + 1, end, left)
        end = middle
      }
    }
  }

  #less(i: number, j: number): boolean {
    return this.#isLess(this.#list[i]!, this.#list[j]!)
  }

  #swap(i: number, j: number): void {
    const list = this.#list
    const kept = list[i]!
    list[i] = list[j]!
    list[j] = kept
  }

  #insertionSort(from: number, to: number): void {
    for (let i = from + 1; i < to; i++) for (let j = i; j > from && this.#less(j, j - 1); j--) this.#swap(j, j - 1)
  }

  #heapSort(from: number, to: number): void {
    const length = to - from
    for (let i = Math.trunc((length - 1) / 2); i >= 0; i--) this.#siftDown(i, length, from)
    for (let i = length - 1; i >= 0; i--) {
      this.#swap(from, from + i)
      this.#siftDown(0, i, from)
    }
  }

  #siftDown(low: number, high: number, first: number): void {
    for (let root = low; ;) {
      let child = 2 * root + 1
      if (child >= high) return
      if (child + 1 < high && this.#less(first + child, first + child + 1)) child++
      if (!this.#less(first + root, first + child)) return
      this.#swap(first + root, first + child)
      root = child
    }
  }

  /** Swaps three elements in the middle with others that a fixed sequence of numbers chooses. */
  #breakPatterns(from: number, to: number): void {
    const length = to - from
    const mask = (1n << BigInt(bitLength(length))) - 1n
    const middle = from + Math.floor(length / 4) * 2
    let random = BigInt(length)
    for (const at of [middle - 1, middle, middle + 1]) {
      random ^= BigInt.asUintN(64, random << 13n)
      random ^= random >> 7n
      random ^= BigInt.asUintN(64, random << 17n)
      const other = Number(random & mask)
      this.#swap(at, from + (other >= length ? other - length : other))
    }
  }

  #choosePivot(from: number, to: number): { pivot: number; hint: Hint } {
    const length = to - from
    const quarter = Math.floor(length / 4)
    this.#swaps = 0
    const places = [from + quarter, from + quarter * 2, from + quarter * 3] as const
    const [i, j, k] =
      length >= LONG ? (places.map((at) => this.#median(at - 1, at, at + 1)) as [number, number, number]) : places
    const pivot = this.#median(i, j, k)
    return { pivot, hint: this.#swaps === 0 ? "increasing" : this.#swaps === MOST_SWAPS ? "decreasing" : "unknown" }
  }

  #ordered(i: number, j: number): readonly [number, number] {
    if (!this.#less(j, i)) return [i, j]
    this.#swaps++
    return [j, i]
  }

  #median(i: number, j: number, k: number): number {
    const [low, high] = this.#ordered(i, j)
    const [middle] = this.#ordered(high, k)
    return this.#ordered(low, middle)[1]
  }

  #reverse(from: number, to: number): void {
    for (let i = from, j = to - 1; i < j; i++, j--) this.#swap(i, j)
  }

  /** Returns whether a nearly sorted run could be sorted with a few repairs. */
  #repair(from: number, to: number): boolean {
    let at = from + 1
    for (let repairs = 0; repairs < MOST_REPAIRS; repairs++) {
      while (at < to && !this.#less(at, at - 1)) at++
      if (at === to) return true
      if (to - from < LONG) return false
      this.#swap(at, at - 1)
      if (at - from >= 2) for (let j = at - 1; j >= 1 && this.#less(j, j - 1); j--) this.#swap(j, j - 1)
      if (to - at >= 2) for (let j = at + 1; j < to && this.#less(j, j - 1); j++) this.#swap(j, j - 1)
    }
    return false
  }

  /** Puts what is smaller than the pivot before it, all else after it. */
  #partition(from: number, to: number, pivot: number): { middle: number; isUnchanged: boolean } {
    this.#swap(from, pivot)
    let [i, j] = [from + 1, to - 1]
    for (let isUnchanged = true; ; isUnchanged = false) {
      while (i <= j && this.#less(i, from)) i++
      while (i <= j && !this.#less(j, from)) j--
      if (i > j) {
        this.#swap(j, from)
        return { middle: j, isUnchanged }
      }
      this.#swap(i++, j--)
    }
  }

  /** Puts what equals the pivot before all that is larger; nothing is smaller. Returns where the larger begin. */
  #partitionEqual(from: number, to: number, pivot: number): number {
    this.#swap(from, pivot)
    let [i, j] = [from + 1, to - 1]
    for (;;) {
      while (i <= j && !this.#less(from, i)) i++
      while (i <= j && this.#less(from, j)) j--
      if (i > j) return i
      this.#swap(i++, j--)
    }
  }
}
