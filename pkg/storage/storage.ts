import type { KubeObject } from "../apimachinery/resource.ts"

/**
 * The log of revisions under every object. One writer, one rising number (the resourceVersion), group commit:
 *  1. `write` checks and takes its revision at once, without an await; so no two writes interleave.
 *  2. Writes of one turn of the event loop, or of a few where each brings more, are committed together; the promise
 *     resolves after the commit: what is
 *     acknowledged is durable.
 *  3. Events reach subscribers after their commit and in rising order.
 *  4. When a commit fails, none of its writes has happened; their promises reject and the next write sees the state
 *     before. Everything live is held in memory too, so reads never touch the disk, except for what is seldom read.
 *     Stored objects are deeply frozen in tests and never changed.
 */
export interface Storage {
  /** The newest committed revision. */
  readonly revision: number
  /** Events up to and including this revision may be gone from the log. */
  readonly compactedRevision: number
  get(key: string): Stored | undefined
  /** Live objects whose key starts with `prefix`, in key order. */
  list(prefix: string): readonly Stored[]
  write(write: Write): Promise<Stored>
  /**
   * Resolves when the memory holds every write that any server had acknowledged before the call. Absent where this
   * process is the only writer.
   * @throws StorageError unavailable, when the log that servers share cannot be reached: the memory may be behind
   */
  freshen?(): Promise<void>
  /** Several writes that happen together or not at all. */
  writeAll(writes: readonly Write[]): Promise<readonly Stored[]>
  /** The log after `revision`, oldest first; throws StorageError "compacted" when part of it is gone. */
  since(revision: number, prefix?: string): readonly StorageEvent[]
  /**
   * The newest revision that had been written by `time`, in milliseconds since the epoch; `compactedRevision` where
   * that is gone from the log.
   */
  revisionAt(time: number): number
  /** Every kept revision of the object that is there, or of the last one that was, oldest first. */
  history(key: string): readonly StorageEvent[]
  /**
   * Calls `listener` after each commit with its events; with `prefixes`, only with those whose keys begin with one of
   * them, if there are any. Each prefix names a whole resource at least, such as `/registry/core/pods/`. Listeners are
   * called in the order of their subscriptions. Returns what ends the calls.
   */
  subscribe(listener: (events: readonly StorageEvent[]) => void, prefixes?: readonly string[]): () => void
  /** Whether the store itself deletes what has a `ttlSeconds`, some time after that. */
  readonly expires?: boolean
  /** Returns all live objects, in no order. Later writes do not change what was returned. */
  image(): StoreImage
  /**
   * Why the last commit failed; undefined since one has succeeded. While there is one, the store itself tries every few
   * seconds whether it can write again, so that an idle server's health does not stay bad for want of a write. What is
   * damaged stays so.
   */
  readonly problem: StorageError | undefined
  /** Drops what is older than `revision` and superseded. */
  compact(revision: number): void
  close(): void
}

/** A live object and its JSON, which is made at most once, whoever asks. */
export interface Stored {
  readonly key: string
  readonly object: KubeObject
  readonly revision: number
  /** Revision at which the object was created. */
  readonly created: number
  /** When it was written, in milliseconds since the epoch. */
  readonly time: number
  /** UTF-8 JSON of `object`. */
  readonly json: Uint8Array
}

/** The live objects at one revision. */
export interface StoreImage {
  readonly revision: number
  readonly objects: readonly Stored[]
  /** Returns the content of one of them as the store writes it: encrypted where it is, with the keys of then. */
  valueOf(stored: Stored): Uint8Array
}

export interface Write {
  readonly key: string
  /** What to store; its metadata.resourceVersion is set to the new revision by the store. Null deletes. */
  readonly object: KubeObject | null
  /** Revision the key must be at; 0: it must not exist; undefined: whatever is there. */
  readonly expected: number | undefined
  /** Milliseconds since the epoch, for the history. */
  readonly time: number
  /** User name of who wrote it, for the history. */
  readonly author: string
  /** Only the newest revision is kept (Lease, Event). */
  readonly highChurn?: boolean
  /**
   * Throws when the object is too large, and then nothing is written. `json` is its JSON where the store makes that
   * anyway.
   */
  readonly checkSize?: (json: Uint8Array | undefined) => void
  /**
   * There may be many of them and hardly anybody asks (Event): a while after it was written, a store on disk keeps it
   * there only.
   */
  readonly seldomRead?: boolean
  /** How long the object is wanted (Event); for ever unless given. */
  readonly ttlSeconds?: number | undefined
}

export interface StorageEvent {
  readonly type: "create" | "update" | "delete"
  readonly revision: number
  readonly key: string
  /** The object after the event; for a delete the last state, with resourceVersion set to the deleting revision. */
  readonly stored: Stored
  readonly previous: Stored | undefined
  readonly time: number
  readonly author: string
}

/**
 * exists: `expected` was 0 and the key is there. conflict: another revision is there. missing: a key to update or
 * delete is not there. compacted: history that was asked for is gone. full, readonly, damaged, locked: the disk or
 * file; nothing was written. lost: what is there is whole, but acknowledged writes are not in it. encryption: the value
 * of one key cannot be encrypted or decrypted. oversized: the log that servers share takes no value of this size.
 * newer: a later version of k3ts has written the file. unavailable: the log that servers share cannot be reached;
 * nothing was written. unknown: it was lost during the write, which may have happened.
 */
export type StorageErrorCode =
  | "exists"
  | "conflict"
  | "missing"
  | "compacted"
  | "full"
  | "readonly"
  | "damaged"
  | "lost"
  | "locked"
  | "encryption"
  | "oversized"
  | "newer"
  | "unavailable"
  | "unknown"

export class StorageError extends Error {
  override readonly name = "StorageError"
  constructor(
    readonly code: StorageErrorCode,
    message: string,
    readonly current?: Stored,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
