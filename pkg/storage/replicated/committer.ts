import type { Clock } from "../../clock/clock.ts"
import { checkWrite } from "../check-write.ts"
import { StorageError, type Stored, type Write } from "../storage.ts"
import type { Flight, Flights } from "./flights.ts"
import type { Freshness } from "./freshness.ts"
import { KeyQueue } from "./key-queue.ts"
import { storageErrorOf } from "./problems.ts"
import type { Replica } from "./replica.ts"
import type { SharedObjects } from "./shared-object.ts"
import { SharedLogError, type SharedLog } from "./shared-log.ts"
import { largest } from "../../lists/extremes.ts"

/** How long the committer tries to find out the outcome of a commit whose answer was lost, in milliseconds. */
const FOLLOW_UP_MS = 10_000
/** The number of attempts after which a write fails because other servers keep changing its objects. */
const ATTEMPTS = 100

export interface CommitterOptions {
  readonly log: SharedLog
  readonly clock: Clock
  readonly objects: SharedObjects
  readonly replica: Replica
  readonly flights: Flights
  readonly freshness: Freshness
}

/**
 * Sends writes to the log. A write is checked against the memory and sent with the revisions that it was checked
 * against, so the log refuses it if it has newer ones. Then the memory is brought up to date, and the write is checked
 * again. A write is acknowledged after its change has come back in the log's order and all subscribers of this server
 * were told.
 */
export class Committer {
  readonly #options: CommitterOptions
  readonly #queue = new KeyQueue()

  constructor(options: CommitterOptions) {
    this.#options = options
  }

  /** @throws StorageError */
  async commit(writes: readonly Write[]): Promise<readonly Stored[]> {
    const keys = [...new Set(writes.map(({ key }) => key))]
    const { turn, leave } = this.#queue.enter(keys)
    if (turn !== undefined) await turn
    try {
      return await this.#checked(writes)
    } finally {
      leave()
    }
  }

  async #checked(writes: readonly Write[]): Promise<readonly Stored[]> {
    const { flights, freshness, replica } = this.#options
    for (let tries = 1; ; tries++) {
      const staged = this.#stage(writes)
      flights.take(staged)
      try {
        const revisions = await this.#send(staged)
        if (revisions !== undefined) {
          await replica.reached(largest(revisions))
          return this.#results(writes, staged, revisions)
        }
      } finally {
        flights.land(staged)
      }
      await freshness.freshen().catch(fail)
      if (tries === ATTEMPTS)
        throw new StorageError("conflict", `Cannot write ${writes[0]!.key}: other servers change it all the time`)
    }
  }

  /**
   * Checks writes one after the other. Of several writes of one key only the last is sent. @throws StorageError
   */
  #stage(writes: readonly Write[]): readonly Flight[] {
    const { replica, objects } = this.#options
    const staged = new Map<string, Flight>()
    for (const { key, object, expected, time, author, checkSize, ttlSeconds } of writes) {
      const before = staged.get(key)
      const base = replica.live.get(key)
      const isThere = before === undefined ? base !== undefined : before.value !== undefined
      checkWrite({ key, object, expected: before === undefined ? expected : undefined }, isThere ? base : undefined)
      const json = object === null ? undefined : objects.json(object)
      checkSize?.(json)
      staged.set(key, {
        key,
        value: json && objects.seal(key, json),
        expected: base?.revision ?? 0,
        object: object ?? before?.object ?? base!.object,
        time,
        author,
        ttlSeconds,
        arrivedAt: undefined,
      })
    }
    return [...staged.values()]
  }

  /** Resolves to the revisions of the writes, or to undefined when the log knows newer ones. @throws StorageError */
  async #send(staged: readonly Flight[]): Promise<readonly number[] | undefined> {
    const { log, clock } = this.#options
    const until = clock.monotonic() + FOLLOW_UP_MS
    let lost: SharedLogError | undefined
    for (;;) {
      try {
        const revisions = await log.commit(staged)
        if (revisions !== undefined || lost === undefined) return revisions
        // The log has refused the commit. The reason may be that an earlier attempt, whose answer was lost, has
        // succeeded.
      } catch (err) {
        if (!(err instanceof SharedLogError)) throw err
        if (err.code !== "unknown") throw lost === undefined ? fail(err) : unknown(staged, lost)
        lost = err
      }
      const outcome = await this.#followUp(staged, lost)
      if (outcome !== "again") return outcome
      if (clock.monotonic() >= until) throw unknown(staged, lost)
    }
  }

  /**
   * Finds out whether a commit has happened. If its changes came from the log, it has. If not, it may still be on its
   * way to the log; so it is sent again with the same expected revisions, of which the log accepts only one.
   */
  async #followUp(staged: readonly Flight[], cause: SharedLogError): Promise<readonly number[] | undefined | "again"> {
    const { freshness, replica } = this.#options
    try {
      await freshness.freshen()
    } catch {
      throw unknown(staged, cause)
    }
    const written = staged.filter(({ value }) => value !== undefined)
    const arrived = written.flatMap(({ arrivedAt }) => arrivedAt ?? [])
    if (arrived.length > 0) return staged.map(({ arrivedAt }) => arrivedAt ?? largest(arrived))
    if (staged.every(({ key, expected }) => (replica.live.get(key)?.revision ?? 0) === expected)) return "again"
    // Another server may have deleted these objects, or this commit has.
    if (written.length === 0) throw unknown(staged, cause)
    return undefined
  }

  #results(writes: readonly Write[], staged: readonly Flight[], revisions: readonly number[]): readonly Stored[] {
    const { replica, objects } = this.#options
    return writes.map(({ key }) => {
      const at = staged.findIndex((flight) => flight.key === key)
      const { object, time, value } = staged[at]!
      const revision = revisions[at]!
      const live = replica.live.get(key)
      if (value !== undefined && live?.revision === revision) return live
      return objects.own({ key, revision, created: revision, time, seldomRead: false }, object)
    })
  }
}

function fail(err: unknown): never {
  throw err instanceof SharedLogError ? storageErrorOf(err) : err
}

const unknown = ([first]: readonly Flight[], cause: SharedLogError): StorageError =>
  new StorageError(
    "unknown",
    `The store could not be reached while ${first!.key} was written, and the write may have happened: ${cause.message}`,
    undefined,
    { cause },
  )
