/**
 * A log of revisions that several servers share: etcd, PostgreSQL, or the simulated one of k3ts/testing.
 *
 * Revisions are rising numbers, with gaps. Every write has a revision of its own; those of one commit are adjacent and
 * rise in the order of its writes. A watch reports changes in this order, those of one commit together.
 */
export interface SharedLog {
  /**
   * Reads all entries of one revision, page by page in the order of their keys. Resolves to that revision, which is at
   * least as new as every commit that was acknowledged before the call.
   */
  read(page: (entries: readonly SharedEntry[]) => void): Promise<number>
  /**
   * Tells the observer of every change after `after`. When `latest` has returned a revision, the observer is told soon
   * afterwards that the log has advanced at least that far, even if no change has that revision.
   */
  watch(after: number, observer: SharedLogObserver): { close(): void }
  /**
   * Writes everything if every key is at its expected revision, otherwise nothing. Resolves to the revisions of the
   * writes, or to undefined if nothing was written. A key occurs once in a commit. @throws SharedLogError
   */
  commit(writes: readonly SharedWrite[]): Promise<readonly number[] | undefined>
  /**
   * Resolves to a revision that is at least as new as every commit which any server had acknowledged before the call,
   * confirmed by the log's majority. @throws SharedLogError unavailable
   */
  latest(): Promise<number>
  /** Deletes states that were superseded by `revision`. When several servers call it, one does the work. */
  compact(revision: number): Promise<void>
  /**
   * Resolves to the state that a key had before the write with this revision; undefined where it did not exist. Absent
   * where the log cannot tell. @throws SharedLogError, also where that state was compacted
   */
  before?(key: string, revision: number): Promise<SharedEntry | undefined>
  /** About how far two revisions lie apart; 1 unless given. */
  readonly stride?: number
  /** Whether the log itself deletes keys that have a `ttlSeconds`. */
  readonly expires?: boolean
  /** Ends all watches without calling their observers. Calls in progress fail. */
  close(): void
}

/** The state of a key. */
export interface SharedEntry {
  readonly key: string
  /** The revision of the write that made this state. */
  readonly revision: number
  /** The revision at which the key was created. */
  readonly created: number
  readonly value: Uint8Array
}

export type SharedChange = SharedEntry | SharedDeletion

export interface SharedDeletion {
  readonly key: string
  /** The revision of the deletion. */
  readonly revision: number
  readonly value: undefined
}

export interface SharedLogObserver {
  /**
   * Receives the changes since the last call, in the order of their revisions; there may be none. Afterwards the
   * observer knows all changes up to `revision`.
   */
  advanced(changes: readonly SharedChange[], revision: number): void
  /** Called when the watch has ended. No other call follows. */
  ended(reason: SharedLogError): void
}

export interface SharedWrite {
  readonly key: string
  /** The value to write; undefined deletes the key. */
  readonly value: Uint8Array | undefined
  /** The revision that the key must have; 0: the key must not exist. */
  readonly expected: number
  /** How many seconds the value is needed. A log that supports this deletes it some time afterwards. */
  readonly ttlSeconds?: number | undefined
}

/**
 * Why the log refuses or fails:
 *
 *  - unavailable: the log cannot be reached, or has no majority; nothing was written.
 *  - unknown: the connection was lost in the middle of a commit, which may have happened, or may still happen.
 *  - compacted: the changes that a watch asked for were deleted.
 *  - full: the log accepts no writes for lack of space.
 *  - oversized: the log accepts no request of this size, but smaller ones.
 *  - refused: the log rejects requests of this server, for example for lack of permissions.
 */
export type SharedLogErrorCode = "unavailable" | "unknown" | "compacted" | "full" | "oversized" | "refused"

export class SharedLogError extends Error {
  override readonly name = "SharedLogError"
  constructor(
    readonly code: SharedLogErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
