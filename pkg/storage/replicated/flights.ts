import type { KubeObject } from "../../apimachinery/resource.ts"
import type { SharedChange, SharedWrite } from "./shared-log.ts"

/** A write of this process that has been sent to the log. */
export interface Flight extends SharedWrite {
  /** The object that is written, or the last state of the object that is deleted. */
  readonly object: KubeObject
  readonly time: number
  readonly author: string
  /** The revision at which its change arrived from the log; undefined until then. */
  arrivedAt: number | undefined
}

/**
 * The writes of this process that are in progress, at most one for each key. They show for a change from the log
 * whether this process made it. Then its object need not be parsed, and a write whose answer was lost is known to have
 * happened.
 */
export class Flights {
  readonly #byKey = new Map<string, Flight>()

  /** Adds writes. `land` removes them. */
  take(flights: readonly Flight[]): void {
    for (const flight of flights) this.#byKey.set(flight.key, flight)
  }

  land(flights: readonly Flight[]): void {
    for (const { key } of flights) this.#byKey.delete(key)
  }

  /**
   * Returns the write that made this change. A deletion by another server looks like one by this process; then this
   * process's deletion fails, or its outcome is reported as unknown.
   */
  arrived({ key, value, revision }: SharedChange): Flight | undefined {
    const flight = this.#byKey.get(key)
    if (flight === undefined || !sameBytes(flight.value, value)) return undefined
    flight.arrivedAt = revision
    return flight
  }
}

function sameBytes(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.length === b.length && Buffer.compare(a, b) === 0
}
