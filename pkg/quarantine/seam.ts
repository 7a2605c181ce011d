import { finished } from "../apimachinery/finished.ts"
import type { Clock, Timer } from "../clock/clock.ts"
import { contain, type Place } from "../failure/contain.ts"
import type { Logger } from "../log/log.ts"
import { WAIT_MS, type Quarantine, type QuarantinePlace } from "./quarantine.ts"

/** The first and the longest delay before work that failed is tried again. */
const FIRST_RETRY_MS = 1000
const LONGEST_RETRY_MS = 60_000

export interface SeamOptions {
  readonly place: Place
  /** Who works on the objects, as in what is set aside: `kube-proxy`. */
  readonly part: string
  /** Another name by which later work on the same objects is noted. Objects that are set aside there are left out too. */
  readonly later?: string
  readonly quarantine: Quarantine | undefined
  readonly clock: Clock
  readonly log: Logger
  /** Called when an object that was left out has its turn again. Must not work on it at once. */
  again(key: string): void
  /** Called once when an object is left out, until it is worked on again: with the reason and message of an Event. */
  leftOut(key: string, reason: "SetAside" | "SyncFailed", why: string): void
}

/** What came of the work on one object; undefined where the object is left out this time. */
export type Done<T> = { readonly value: T } | undefined

/**
 * Work on one of many objects, whose failure leaves out only this object: it is tried again after 1 s to 60 s, and at
 * once when somebody changes it. An object that is set aside is left out without a try, and one that is suspected until
 * it is tried alone.
 */
export class Seam {
  readonly #options: SeamOptions
  readonly #quarantined: QuarantinePlace | undefined
  readonly #later: QuarantinePlace | undefined
  readonly #unsubscribe: (() => void) | undefined
  readonly #waits = new Map<string, { readonly timer: Timer; readonly ms: number }>()
  readonly #reported = new Set<string>()

  constructor(options: SeamOptions) {
    const { quarantine, part, later, again } = options
    this.#options = options
    this.#quarantined = quarantine?.place(part)
    this.#later = later === undefined ? undefined : quarantine?.place(later)
    this.#unsubscribe = quarantine?.onFreed(({ place, key }) => {
      if (place === part || place === later) again(key)
    })
  }

  /** Does work that does not wait. `seen` returns what changes with an edit of the object; undefined: it is gone. */
  run<T>(key: string, seen: () => string | undefined, work: () => T): Done<T> {
    return finished(this.steps(key, seen, () => oneStep(work)))
  }

  /** The same for work in steps. */
  *steps<T>(key: string, seen: () => string | undefined, work: () => Iterator<void, T>): Generator<void, Done<T>> {
    try {
      for (const place of [this.#quarantined, this.#later]) {
        const fate = place?.fate(key, seen) ?? "go"
        if (fate !== "go") return this.#leave(key, fate)
      }
      const steps = beginning(work)
      const value = yield* this.#quarantined === undefined ? steps : this.#quarantined.steps(key, steps)
      this.#forget(key)
      return { value }
    } catch (err) {
      this.#fail(key, err)
      return undefined
    }
  }

  stop(): void {
    this.#unsubscribe?.()
    for (const { timer } of this.#waits.values()) timer.cancel()
    this.#waits.clear()
  }

  #leave(key: string, fate: "wait" | "skip"): undefined {
    if (fate === "wait") this.#wait(key, WAIT_MS)
    else this.#tell(key, "SetAside", skippedBy(this.#options.part))
    return undefined
  }

  #fail(key: string, err: unknown): void {
    const { place, part, log } = this.#options
    contain(place, err, log, { key })
    const ms = Math.min(LONGEST_RETRY_MS, Math.max(FIRST_RETRY_MS, 2 * (this.#waits.get(key)?.ms ?? 0)))
    this.#wait(key, ms)
    this.#tell(key, "SyncFailed", `${part} fails to work on this object, and will try again: ${String(err)}`)
  }

  #wait(key: string, ms: number): void {
    this.#waits.get(key)?.timer.cancel()
    this.#waits.set(key, { timer: this.#options.clock.setTimeout(() => this.#options.again(key), ms), ms })
  }

  #tell(key: string, reason: "SetAside" | "SyncFailed", why: string): void {
    if (this.#reported.has(key)) return
    this.#reported.add(key)
    this.#options.log.error("Left out one object; everything else goes on", { key, reason, why })
    this.#options.leftOut(key, reason, why)
  }

  #forget(key: string): void {
    this.#waits.get(key)?.timer.cancel()
    this.#waits.delete(key)
    this.#reported.delete(key)
  }
}

/** Returns steps of which the one does all the work. */
const oneStep = <T>(work: () => T): Iterator<void, T> => ({ next: () => ({ done: true, value: work() }) })

/** Has also the call that returns the steps among them. */
function* beginning<T>(work: () => Iterator<void, T>): Generator<void, T> {
  const steps = work()
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    yield
  }
}

/** The message of the Event about an object that a part of the program skips. */
export const skippedBy = (part: string): string =>
  `${part} skips this object: work on it has ended the server twice, or kept it from everything else. An edit of the ` +
  "object, or `k3ts quarantine free`, has it tried again"
