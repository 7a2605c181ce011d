import type { KubeObject } from "../../apimachinery/resource.ts"
import type { SharedChange, SharedWrite } from "./shared-log.ts"

/** A write of this process that has been sent to the log. */
export interface Flight extends SharedWrite {
  /** The object that is written, or the last state of the object that is deleted. */
  readonly object: KubeObject
  readonly time: number
  readonly author: string
  /** The revision at which its change came from the log; undefined until then. */
  arrivedAt: number | undefined
}

/**
 * The writes of this process that are under way, at most one for each key. When a change comes from the log, they show
 * whether this process has made it. Then its object need not be parsed, and a write whose answer was lost is known to
 * have happened.
 */
export class Flights {
  readonly #byKey = new Map<string, Flight>()

  /** Remembers writes until `land`. */
  take(flights: readonly Flight[]): void {
    for (const flight of flights) this.#byKey.set(flight.key, flight)
  }

  land(flights: readonly Flight[]): void {
    for (const { key } of flights) this.#byKey.delete(key)
  }

  /**
   * Returns the write that has made this change. A deletion by another server looks like our own; then our own deletion
   * fails, or its outcome is reported as unknown.
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
