/**
 * A log of revisions that several servers share: etcd, PostgreSQL, or the simulated one of k3ts/testing.
 *
 * Revisions are rising numbers, with gaps. Every write has a revision of its own; those of one commit are adjacent and
 * rise in the order of its writes. A watch gives them in this order, those of one commit together.
 */
export interface SharedLog {
  /**
   * Reads all entries of one revision, page by page in the order of their keys. Resolves to that revision, which is at
   * least as new as every commit that was acknowledged before the call.
   */
  read(page: (entries: readonly SharedEntry[]) => void): Promise<number>
  /**
   * Tells the observer of every change after `after`. Where `latest` has returned a revision, the observer is told
   * within a short time that the log has advanced to it or further, even if no change has that revision.
   */
  watch(after: number, observer: SharedLogObserver): { close(): void }
  /**
   * Writes all or nothing, if every key is at its expected revision. Resolves to the revisions of the writes, or to
   * undefined where a key was at another revision. A key occurs once in a commit.
   * @throws SharedLogError
   */
  commit(writes: readonly SharedWrite[]): Promise<readonly number[] | undefined>
  /**
   * Returns a revision that is at least as new as every commit that any server had acknowledged before the call: the
   * log's majority has confirmed it.
   * @throws SharedLogError unavailable
   */
  latest(): Promise<number>
  /** Drops what was superseded by `revision`. Of several servers that call it, one does it. */
  compact(revision: number): Promise<void>
  /** Ends all watches without telling their observers, and fails what is under way. */
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
   * All changes up to `revision` have been told with this call; `changes` are those since the call before, in the
   * order of their revisions. There may be none.
   */
  advanced(changes: readonly SharedChange[], revision: number): void
  /** The watch is over; nothing is told afterwards. */
  ended(reason: SharedLogError): void
}

export interface SharedWrite {
  readonly key: string
  /** What is written; undefined deletes the key. */
  readonly value: Uint8Array | undefined
  /** The revision the key must be at; 0: it must not exist. */
  readonly expected: number
}

/**
 * unavailable: the log cannot be reached, or has no majority; nothing was written. unknown: the connection was lost in
 * the middle of a commit, which may have happened, or may still happen. compacted: the changes that a watch asked for
 * are gone. full: the log takes no writes for want of space. oversized: the log takes no request of this size, but
 * takes others. refused: the log rejects requests of this server (it has no right to do them).
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
