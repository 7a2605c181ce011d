import { sleep, type Clock } from "../../../../pkg/clock/clock.ts"
import { CriError } from "../../../../pkg/cri/errors.ts"
import { largest } from "../../../../pkg/lists/extremes.ts"

/** A call of the runtime that takes time. */
interface Work {
  readonly clock: Clock
  /** The method of the CRI. */
  readonly method: string
  readonly signal?: AbortSignal | undefined
}

/** The faults of one simulated node. Tests change them, and its runtime reads them. */
export class NodeFaults {
  #power = new AbortController()
  /** Called when calls begin or cease to fail, or take another time. */
  changed: () => void = () => {}
  /** The node is cut off from other nodes and from the API server. */
  partitioned = false
  /** Why no pod gets a network, as the runtime tells it; undefined where each gets one. */
  networkProblem: string | undefined
  readonly #slowness: number[] = []
  readonly #shortages: ("memory" | "disk")[] = []
  readonly #pulls: { readonly matches: (image: string) => boolean; readonly message: string }[] = []

  /** Whether the node is off, so that every call fails. */
  get off(): boolean {
    return this.#power.signal.aborted
  }

  /** Cuts the power: calls in progress fail. */
  powerFails(): void {
    this.#power.abort(new Error("the node is off"))
    this.changed()
  }
  powerReturns(): void {
    if (this.off) this.#power = new AbortController()
  }

  /**
   * Resolves after the time that a call of `ms` milliseconds takes on this node; `signal` ends the wait early. @throws
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
   * The factor by which every call takes longer. A call that takes no time takes this many milliseconds less one. The
   * largest factor of all causes applies.
   */
  get slowness(): number {
    return Math.max(1, largest(this.#slowness))
  }
  get shortage(): { readonly memory: boolean; readonly disk: boolean } {
    return { memory: this.#shortages.includes("memory"), disk: this.#shortages.includes("disk") }
  }

  /** Makes the node slow; returns a function that ends this. */
  slowDown(factor: number): () => void {
    const end = added(this.#slowness, factor)
    this.changed()
    return () => {
      end()
      this.changed()
    }
  }

  /** Makes memory or disk space run out; returns a function that ends this. */
  runShort(of: "memory" | "disk"): () => void {
    return added(this.#shortages, of)
  }

  /** Makes pulls of matching images fail; returns a function that ends this. */
  failPulls(matches: (image: string) => boolean, message: string): () => void {
    return added(this.#pulls, { matches, message })
  }

  pullFailure(image: string): string | undefined {
    return this.#pulls.find(({ matches }) => matches(image))?.message
  }
}

/** Adds a cause; returns a function that removes it. Equal causes may be in the list several times. */
export function added<T>(causes: T[], cause: T): () => void {
  causes.push(cause)
  return () => {
    const at = causes.indexOf(cause)
    if (at >= 0) causes.splice(at, 1)
  }
}
