import type { TraceSpan, Tracing } from "../../../pkg/tracing/tracing.ts"
import type { Page } from "../../../pkg/storage/page.ts"
import type {
  LogFilter,
  Storage,
  StorageError,
  StorageEvent,
  Stored,
  StoreImage,
  Write,
} from "../../../pkg/storage/storage.ts"

/** A write that waits for its commit, with the span that it belongs to. */
interface Waiting {
  readonly cause: TraceSpan | undefined
}

/**
 * A store with a span for each write, from its check to the commit that it shares with others, which notes what span
 * wrote which revision. The spans have upstream's names, so that what is made for Kubernetes finds them. Reads do not
 * leave the memory of this process and have no spans. Source of the names: apiserver pkg/storage/etcd3 store.go, which
 * has none for a deletion.
 */
export class TracedStorage implements Storage {
  readonly #storage: Storage
  readonly #tracing: Tracing
  /** By key, in the order of the writes, which is that of their events. */
  readonly #waiting = new Map<string, Waiting[]>()
  /** Ends the tracing of writes. The store stays open. */
  readonly stopTracing: () => void
  readonly freshen?: () => Promise<void>
  readonly expires: boolean
  readonly forgetsTimes: boolean

  /** Must be created before anything subscribes that reacts to writes: it wants to know their cause. */
  constructor(storage: Storage, tracing: Tracing) {
    this.#storage = storage
    this.#tracing = tracing
    this.expires = storage.expires === true
    this.forgetsTimes = storage.forgetsTimes === true
    this.stopTracing = storage.subscribe((events) => this.#committed(events))
    if (storage.freshen !== undefined) this.freshen = () => storage.freshen!()
  }

  get revision(): number {
    return this.#storage.revision
  }
  get historyBegins(): number {
    return this.#storage.historyBegins ?? this.#storage.compactedRevision
  }
  get stride(): number {
    return this.#storage.stride ?? 1
  }
  get compactedRevision(): number {
    return this.#storage.compactedRevision
  }
  get problem(): StorageError | undefined {
    return this.#storage.problem
  }
  get(key: string): Stored | undefined {
    return this.#storage.get(key)
  }
  list(prefix: string): readonly Stored[] {
    return this.#storage.list(prefix)
  }
  page(prefix: string, after: string | undefined, limit: number): Page<Stored> {
    return this.#storage.page(prefix, after, limit)
  }
  write(write: Write): Promise<Stored> {
    return this.#followed([write], () => this.#storage.write(write))
  }
  writeAll(writes: readonly Write[]): Promise<readonly Stored[]> {
    return this.#followed(writes, () => this.#storage.writeAll(writes))
  }
  since(revision: number, prefix?: string): readonly StorageEvent[] {
    return this.#storage.since(revision, prefix)
  }
  between(after: number, upTo: number, filter?: LogFilter): readonly StorageEvent[] {
    return this.#storage.between(after, upTo, filter)
  }
  revisionAt(time: number): number {
    return this.#storage.revisionAt(time)
  }
  history(key: string): readonly StorageEvent[] {
    return this.#storage.history(key)
  }
  subscribe(listener: (events: readonly StorageEvent[]) => void, prefixes?: readonly string[]): () => void {
    return this.#storage.subscribe(listener, prefixes)
  }
  image(): StoreImage {
    return this.#storage.image()
  }
  compact(revision: number): void {
    this.#storage.compact(revision)
  }
  close(): void {
    this.#storage.close()
  }

  #committed(events: readonly StorageEvent[]): void {
    for (const { key, revision } of events) {
      const cause = this.#waiting.get(key)?.shift()?.cause
      if (cause !== undefined) this.#tracing.causes.note(revision, cause)
    }
  }

  async #followed<T>(writes: readonly Write[], run: () => Promise<T>): Promise<T> {
    const span = this.#spanOf(writes)
    // That a request is not sampled holds for what it leads to as well.
    const waiting: Waiting = { cause: span ?? this.#tracing.active() }
    for (const { key } of writes) this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), waiting])
    try {
      return await run()
    } catch (err) {
      span?.fail(err)
      throw err
    } finally {
      for (const { key } of writes) this.#forget(key, waiting)
      span?.end()
    }
  }

  #spanOf(writes: readonly Write[]): TraceSpan | undefined {
    const [first] = writes
    if (first === undefined) return undefined
    const { key, object, expected } = first
    const name = object === null ? "Delete etcd3" : expected === 0 ? "Create etcd3" : "GuaranteedUpdate etcd3"
    const attributes = { "db.system.name": this.freshen === undefined ? "sqlite" : "etcd", key, writes: writes.length }
    return this.#tracing.start(name, { kind: "client", attributes })
  }

  #forget(key: string, waiting: Waiting): void {
    const left = this.#waiting.get(key)?.filter((other) => other !== waiting) ?? []
    if (left.length === 0) this.#waiting.delete(key)
    else this.#waiting.set(key, left)
  }
}
