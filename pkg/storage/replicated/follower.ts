import type { Clock, Timer } from "../../clock/clock.ts"
import { FatalError } from "../../failure/fatal-error.ts"
import type { StorageEvent } from "../storage.ts"
import type { Replica } from "./replica.ts"
import { SharedLogError, type SharedEntry, type SharedLog } from "./shared-log.ts"
import { pushAll } from "../../lists/push-all.ts"
import { errorMessage } from "../../errors/error-message.ts"

/** The first and the longest pause before the next attempt to follow the log, in milliseconds. */
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2000
/**
 * How long a watch may be broken before the log is reported as lost, in milliseconds: a watch also breaks when only its
 * member of the log ends, or the leader changes. Requests that need the log notice its loss by themselves.
 */
const PATIENCE_MS = 2000

export interface FollowerOptions {
  readonly log: Pick<SharedLog, "watch" | "read">
  readonly clock: Clock
  readonly replica: Replica
  /** Calls the subscribers of the store. */
  tell(events: readonly StorageEvent[]): void
  /** Called when the log could not be followed for a while. */
  lost(reason: SharedLogError): void
}

/** Follows the log while the store is open, and applies its changes to the memory. */
export class Follower {
  readonly #options: FollowerOptions
  #watch: { close(): void } | undefined
  #timer: Timer | undefined
  #pauseMs = FIRST_PAUSE_MS
  /** Times of the monotonic clock: when the watch began, and since when no watch has lasted. */
  #followedAt = 0
  #brokenSince: number | undefined
  #closed = false

  constructor(options: FollowerOptions) {
    this.#options = options
  }

  follow(): void {
    const { clock, log, replica, tell } = this.#options
    this.#followedAt = clock.monotonic()
    this.#watch = log.watch(replica.revision, {
      advanced: (changes, revision) => {
        this.#pauseMs = FIRST_PAUSE_MS
        this.#brokenSince = undefined
        const events = applied(() => replica.advance(changes, revision))
        try {
          tell(events)
        } finally {
          replica.release()
        }
      },
      ended: (reason) => this.#ended(reason),
    })
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
    this.#watch?.close()
  }

  #ended(reason: SharedLogError): void {
    if (this.#closed) return
    if (reason.code !== "compacted") {
      if (this.#isBrokenForLong()) this.#options.lost(reason)
      return this.#later(() => this.follow())
    }
    this.#readAgain().catch((err: unknown) => {
      if (err instanceof FatalError) throw err
      if (this.#closed) return
      this.#options.lost(err instanceof SharedLogError ? err : new SharedLogError("unavailable", String(err)))
      this.#later(() => this.#ended(reason))
    })
  }

  #isBrokenForLong(): boolean {
    const now = this.#options.clock.monotonic()
    if (now - this.#followedAt >= PATIENCE_MS) this.#brokenSince = undefined
    this.#brokenSince ??= now
    return now - this.#brokenSince >= PATIENCE_MS
  }

  /** Reads all objects, because the log no longer has changes that this server has not seen. */
  async #readAgain(): Promise<void> {
    const { log, replica, tell } = this.#options
    const entries: SharedEntry[] = []
    const revision = await log.read((page) => pushAll(entries, page))
    if (this.#closed) return
    const events = applied(() => replica.jump(entries, revision))
    try {
      tell(events)
    } finally {
      replica.release()
    }
    this.follow()
  }

  #later(run: () => void): void {
    this.#timer = this.#options.clock.setTimeout(run, this.#pauseMs, "upkeep")
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)
  }
}

/** Returns what `apply` returns. @throws FatalError where the memory has taken only some of the log's changes */
function applied(apply: () => readonly StorageEvent[]): readonly StorageEvent[] {
  try {
    return apply()
  } catch (err) {
    const why = errorMessage(err)
    throw new FatalError(`a change of the log that servers share could not be applied: ${why}`, { cause: err })
  }
}
