import type { KubeObject } from "../apimachinery/resource.ts"
import type { Page } from "./page.ts"

/**
 * The log of revisions under every object. One writer, one rising number (the resourceVersion), group commit:
 *
 *  1. `write` checks and takes its revision at once, without an await; so no two writes interleave.
 *  2. Writes of one turn of the event loop, or of a few where each brings more, are committed together; the promise
 *     resolves after the commit, so acknowledged writes are durable.
 *  3. Events reach subscribers after their commit and in rising order.
 *  4. When a commit fails, none of its writes has happened; their promises reject and the next write sees the state
 *     before.
 *
 * All live objects are in memory too, so reads never touch the disk, except for kinds that are seldom read. The content
 * of those is read when it is used; that fails with StorageError compacted if they have been superseded meanwhile, and
 * that history has been compacted. Stored objects are deeply frozen in tests and never changed.
 */
export interface Storage {
  /** The newest committed revision. */
  readonly revision: number
  /** Events up to and including this revision may have been deleted from the log. */
  readonly compactedRevision: number
  /** The revision from which on `between` knows the log, where that is more than watches can resume from. */
  readonly historyBegins?: number
  /** About how far two revisions lie apart; 1 unless given. */
  readonly stride?: number
  get(key: string): Stored | undefined
  /** Returns the live objects whose key starts with `prefix`, in the order of their keys. */
  list(prefix: string): readonly Stored[]
  /**
   * Returns the first `limit` of these objects whose key comes after `after`, if that is given, without finding the
   * others. The prefix must contain at least a whole resource, such as `/registry/core/pods/`.
   */
  page(prefix: string, after: string | undefined, limit: number): Page<Stored>
  write(write: Write): Promise<Stored>
  /**
   * Resolves when the memory has every write that any server had acknowledged before the call. Absent if this process
   * is the only writer.
   * @throws StorageError unavailable, when the log that servers share cannot be reached: the memory may be out of date
   */
  freshen?(): Promise<void>
  /** Makes several writes, all or none. */
  writeAll(writes: readonly Write[]): Promise<readonly Stored[]>
  /** Returns the log after `revision`, oldest first. @throws StorageError compacted, when part of it was deleted */
  since(revision: number, prefix?: string): readonly StorageEvent[]
  /**
   * Returns the events after revision `after`, up to `upTo`, that the filter selects, oldest first. Each call reads all
   * of the range at once, so a long one is read in portions, with turns of the event loop between them.
   * @throws StorageError compacted, when part of the range was deleted
   */
  between(after: number, upTo: number, filter?: LogFilter): readonly StorageEvent[]
  /**
   * Returns the newest revision that had been written by `time`, in milliseconds since the epoch; `compactedRevision`
   * when the log of that time was deleted.
   */
  revisionAt(time: number): number
  /** Returns every kept revision of the object with this key, or of the last one if it was deleted, oldest first. */
  history(key: string): readonly StorageEvent[]
  /**
   * Calls `listener` after each commit with its events; with `prefixes`, only with those whose keys begin with one of
   * them, if there are any. Each prefix must contain at least a whole resource, such as `/registry/core/pods/`.
   * Listeners are called in the order of their subscriptions. Returns a function that ends the subscription.
   */
  subscribe(listener: (events: readonly StorageEvent[]) => void, prefixes?: readonly string[]): () => void
  /** Whether the store itself deletes objects that have a `ttlSeconds`, some time after that. */
  readonly expires?: boolean
  /**
   * Whether `time` of an object that was there when the store was opened is the time of opening: a shared store does not
   * keep when its objects were written.
   */
  readonly forgetsTimes?: boolean
  /**
   * Returns all live objects, in no order. Later writes do not change the returned value, until its `end` is called.
   */
  image(): StoreImage
  /**
   * Why the last commit failed; undefined after one that succeeded. While commits fail, the store makes a trial write
   * every few seconds, so that an idle server becomes healthy again without a write of a client. A damaged store stays
   * so.
   */
  readonly problem: StorageError | undefined
  /** Deletes superseded states older than `revision`. */
  compact(revision: number): void
  close(): void
}

/** Selects events of the log that match all given fields. */
export interface LogFilter {
  /** One object's key. */
  readonly key?: string | undefined
  /** The beginning of the keys. */
  readonly prefix?: string | undefined
  /** The user who wrote. */
  readonly author?: string | undefined
}

/** A live object and its JSON, which is made at most once for all readers. */
export interface Stored {
  readonly key: string
  readonly object: KubeObject
  readonly revision: number
  /** The revision at which the object was created. */
  readonly created: number
  /** When the object was written, in milliseconds since the epoch. */
  readonly time: number
  /** `object` as JSON in UTF-8. */
  readonly json: Uint8Array
  /** The length of `json` where it is in memory; undefined where it would have to be made or read. */
  readonly bytes?: number | undefined
}

/** The live objects at one revision. */
export interface StoreImage {
  readonly revision: number
  readonly objects: readonly Stored[]
  /**
   * Returns the value of one of the objects as the store writes it: if it is encrypted, with the keys at the time of
   * the image.
   */
  valueOf(stored: Stored): Uint8Array
  /** To be called when no value is needed any more: until then a store on disk deletes no superseded states. */
  end(): void
}

export interface Write {
  readonly key: string
  /** The object to store, or null to delete. The store sets metadata.resourceVersion to the new revision. */
  readonly object: KubeObject | null
  /** The revision that the key must have; 0: the key must not exist; undefined: any. */
  readonly expected: number | undefined
  /** When the object is written, in milliseconds since the epoch, for the history. */
  readonly time: number
  /** The name of the user who writes it, for the history. */
  readonly author: string
  /** Whether only the newest revision is kept (Lease); not for what is `seldomRead`. */
  readonly highChurn?: boolean
  /**
   * Throws when the object is too large; then nothing is written. `json` is the object's JSON if the store makes it
   * anyway.
   */
  readonly checkSize?: ((json: Uint8Array | undefined) => void) | undefined
  /** Whether objects of the kind may be many and are seldom read (Event): a store on disk keeps them only there. */
  readonly seldomRead?: boolean
  /** How many seconds the object is kept (Event); for ever by default. */
  readonly ttlSeconds?: number | undefined
}

export interface StorageEvent {
  readonly type: "create" | "update" | "delete"
  readonly revision: number
  readonly key: string
  /**
   * The object after the event. After a deletion its last state, with resourceVersion set to the revision of the
   * deletion.
   */
  readonly stored: Stored
  readonly previous: Stored | undefined
  readonly time: number
  readonly author: string
}

/**
 * Why the store refuses or fails:
 *
 *  - exists: `expected` was 0 and the key is there.
 *  - conflict: another revision is there.
 *  - missing: a key to update or delete is not there.
 *  - compacted: the requested history was deleted.
 *  - full, readonly, damaged, locked: the disk or file; nothing was written.
 *  - lost: the store is intact, but acknowledged writes are missing.
 *  - encryption: the value of one key cannot be encrypted or decrypted.
 *  - oversized: the log that servers share accepts no value of this size.
 *  - newer: a later version of k3ts has written the file.
 *  - unavailable: the log that servers share cannot be reached; nothing was written.
 *  - unknown: the connection to it was lost during the write, which may have happened.
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
