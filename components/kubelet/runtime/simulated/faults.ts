import { sleep, type Clock } from "../../../../pkg/clock/clock.ts"
import { CriError } from "../../../../pkg/cri/errors.ts"

/** Something that a runtime does. */
interface Work {
  readonly clock: Clock
  /** Of the CRI. */
  readonly method: string
  readonly signal?: AbortSignal | undefined
}

/** What is wrong with one simulated node. Changed by tests, looked at by its runtime. */
export class NodeFaults {
  #power = new AbortController()
  /** Other nodes and the API server cannot reach it, nor it them. */
  partitioned = false
  readonly #slowness: number[] = []
  readonly #shortages: ("memory" | "disk")[] = []
  readonly #pulls: { readonly matches: (image: string) => boolean; readonly message: string }[] = []

  /** The node is off: nothing answers. */
  get off(): boolean {
    return this.#power.signal.aborted
  }

  /** What the runtime was about to do is not done any more. */
  powerFails(): void {
    this.#power.abort(new Error("the node is off"))
  }
  powerReturns(): void {
    if (this.off) this.#power = new AbortController()
  }

  /**
   * Resolves after the time that the runtime takes for something of `ms` milliseconds; `signal` ends it before. @throws
   * CriError when the node is off by then
   */
  async take(ms: number, { clock, method, signal }: Work): Promise<void> {
    const power = this.#power.signal
    const taken = ms * this.slowness + (this.slowness - 1)
    if (taken > 0 && !power.aborted)
      await sleep(clock, taken, signal === undefined ? power : AbortSignal.any([signal, power])).catch(
        (err: unknown) => {
          if (!power.aborted) throw err
        },
      )
    if (power.aborted) throw new CriError("Unavailable", method, "the node is off")
  }

  /**
   * Everything the runtime does takes this many times as long, and what takes no time takes so many milliseconds less
   * one. Of several causes the worst counts.
   */
  get slowness(): number {
    return Math.max(1, ...this.#slowness)
  }
  get shortage(): { readonly memory: boolean; readonly disk: boolean } {
    return { memory: this.#shortages.includes("memory"), disk: this.#shortages.includes("disk") }
  }

  /** Makes the node slow; returns what ends that. */
  slowDown(factor: number): () => void {
    return added(this.#slowness, factor)
  }

  /** Lets nothing be left of a resource; returns what ends that. */
  runShort(of: "memory" | "disk"): () => void {
    return added(this.#shortages, of)
  }

  /** Makes pulls fail; returns what ends that. */
  failPulls(matches: (image: string) => boolean, message: string): () => void {
    return added(this.#pulls, { matches, message })
  }

  pullFailure(image: string): string | undefined {
    return this.#pulls.find(({ matches }) => matches(image))?.message
  }
}

/** Adds one of perhaps several equal causes; returns what takes it away again. */
function added<T>(causes: T[], cause: T): () => void {
  causes.push(cause)
  return () => {
    const at = causes.indexOf(cause)
    if (at >= 0) causes.splice(at, 1)
  }
}
