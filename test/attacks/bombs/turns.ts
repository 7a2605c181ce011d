import { heapStats } from "bun:jsc"
import { readFileSync, writeFileSync } from "node:fs"

/** What a process measured of itself since it was asked to begin. */
export interface Measured {
  /** Processor time of the longest turn of the event loop, in milliseconds, of the thread alone. */
  readonly longestMs: number
  /** Growth of the heap after a garbage collection, in bytes. */
  readonly kept: number
  /** Growth of the process's most resident memory, in bytes. */
  readonly peak: number
}

export type Asked = "begin" | "end"
export type Told = { readonly ready: true } | { readonly begun: true } | Measured

/** A turn below this is idle work: probes of the simulated kubelet, leases. Milliseconds. */
const BUSY_MS = 5
/**
 * The cluster is quiet after this time without a busy turn, in milliseconds of this thread: on a busy machine a thread
 * that waits for the processor does nothing for longer, and what it is about to write is still in the heap.
 */
const QUIET_MS = 120
/**
 * Controllers that never end, such as those of a huge number of replicas, are measured for this long, in milliseconds
 * of this thread, or of the clock where the thread hardly runs: an answer must come in 40 seconds.
 */
const MOST_MS = 4000
const MOST_CLOCK_MS = 25_000

/**
 * Measures the turns of this process's event loop, and its memory, when the parent process asks for it. Processor time
 * of this thread is measured, not the time of the clock, so that other load of the machine does not count.
 */
export class Turns {
  #longest = 0
  #last = 0
  #active = false
  #quietSince = 0
  #heap = 0
  #peak = 0
  #onTurn: (() => void) | undefined

  serve(): void {
    const tell = (told: Told) => process.send?.(told)
    process.on("message", (asked: Asked) => {
      if (asked === "begin") {
        this.#begin()
        tell({ begun: true })
      } else this.#whenQuiet(() => tell(this.#end()))
    })
    process.on("disconnect", () => process.exit(0))
    tell({ ready: true })
  }

  #begin(): void {
    Bun.gc(true)
    this.#heap = heapSize()
    resetPeak()
    this.#peak = peak()
    this.#longest = 0
    this.#last = threadMs()
    this.#quietSince = threadMs()
    if (this.#active) return
    this.#active = true
    // The first turn has the collection above.
    setImmediate(() => {
      this.#last = threadMs()
      setImmediate(this.#next)
    })
  }

  readonly #next = () => this.#turn()

  #turn(): void {
    const now = threadMs()
    const took = now - this.#last
    this.#last = now
    if (took > this.#longest) this.#longest = took
    if (took > BUSY_MS) this.#quietSince = now
    this.#onTurn?.()
    if (this.#active) setImmediate(this.#next)
  }

  #whenQuiet(then: () => void): void {
    const [from, clockFrom] = [threadMs(), performance.now()]
    this.#quietSince = from
    this.#onTurn = () => {
      const isOver = threadMs() - from > MOST_MS || performance.now() - clockFrom > MOST_CLOCK_MS
      if (threadMs() - this.#quietSince < QUIET_MS && !isOver) return
      this.#onTurn = undefined
      then()
    }
  }

  #end(): Measured {
    this.#active = false
    const most = peak() - this.#peak
    Bun.gc(true)
    return { longestMs: this.#longest, kept: heapSize() - this.#heap, peak: most }
  }
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function heapSize(): number {
  const { heapSize: own, extraMemorySize: beside } = heapStats()
  return own + beside
}

/** Source: proc_pid_clear_refs(5): 5 resets the high water mark. */
const resetPeak = () => writeFileSync("/proc/self/clear_refs", "5")
const peak = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))![1]) * 1024
