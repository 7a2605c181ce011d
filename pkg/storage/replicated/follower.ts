import type { Clock, Timer } from "../../clock/clock.ts"
import type { StorageEvent } from "../storage.ts"
import type { Replica } from "./replica.ts"
import { SharedLogError, type SharedEntry, type SharedLog } from "./shared-log.ts"

/** The pauses before the next attempts to follow the log, in milliseconds. */
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2000
/**
 * How long a watch may be broken before the log counts as lost, in milliseconds: it also ends where only its server of
 * the log ends, or the leader changes. Requests that need the log notice by themselves that it is lost.
 */
const PATIENCE_MS = 2000

export interface FollowerOptions {
  readonly log: Pick<SharedLog, "watch" | "read">
  readonly clock: Clock
  readonly replica: Replica
  /** Tells the subscribers of the store. */
  tell(events: readonly StorageEvent[]): void
  /** The log cannot be followed, and could not for a while. */
  lost(reason: SharedLogError): void
}

/** Follows the log for as long as the store is open, and brings its changes into memory. */
export class Follower {
  readonly #options: FollowerOptions
  #watch: { close(): void } | undefined
  #timer: Timer | undefined
  #pauseMs = FIRST_PAUSE_MS
  /** On the monotonic clock: when the watch began, and since when no watch has lasted. */
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
        try {
          tell(replica.advance(changes, revision))
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

  /** Reads all objects, because changes that this server has not seen are gone from the log. */
  async #readAgain(): Promise<void> {
    const { log, replica, tell } = this.#options
    const entries: SharedEntry[] = []
    const revision = await log.read((page) => entries.push(...page))
    if (this.#closed) return
    tell(replica.jump(entries, revision))
    replica.release()
    this.follow()
  }

  #later(run: () => void): void {
    this.#timer = this.#options.clock.setTimeout(run, this.#pauseMs, "upkeep")
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)
  }
}
