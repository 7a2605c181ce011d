import type { Clock } from "../../clock/clock.ts"
import type { Replica } from "./replica.ts"
import { SharedLogError, type SharedLog } from "./shared-log.ts"

/** How long the changes up to a known revision may take to arrive, in milliseconds. */
const ARRIVAL_MS = 5000

/**
 * Waits until the memory has every write that any server has acknowledged: requests the log's newest revision and waits
 * until it arrives. Callers that come during such a round share the next one, because the answer of the current round
 * may be older than their call.
 */
export class Freshness {
  readonly #log: Pick<SharedLog, "latest">
  readonly #replica: Replica
  readonly #clock: Clock
  #round: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(log: Pick<SharedLog, "latest">, replica: Replica, clock: Clock) {
    this.#log = log
    this.#replica = replica
    this.#clock = clock
  }

  /** @throws SharedLogError unavailable */
  freshen(): Promise<void> {
    if (this.#round === undefined) return this.#begin()
    const begin = () => {
      this.#next = undefined
      return this.#begin()
    }
    return (this.#next ??= this.#round.then(begin, begin))
  }

  #begin(): Promise<void> {
    const round = this.#run().finally(() => {
      if (this.#round === round) this.#round = undefined
    })
    return (this.#round = round)
  }

  async #run(): Promise<void> {
    const revision = await this.#log.latest()
    if (revision <= this.#replica.revision) return
    const { promise, reject } = Promise.withResolvers<never>()
    const late = () => reject(new SharedLogError("unavailable", `revision ${revision} has not arrived in time`))
    const timer = this.#clock.setTimeout(late, ARRIVAL_MS, "watchdog")
    try {
      await Promise.race([this.#replica.reached(revision), promise])
    } finally {
      timer.cancel()
    }
  }
}
