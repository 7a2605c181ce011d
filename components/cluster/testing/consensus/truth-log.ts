import {
  SharedLogError,
  type SharedEntry,
  type SharedLog,
  type SharedLogObserver,
} from "../../../../pkg/storage/replicated/shared-log.ts"
import type { Keyspace } from "./keyspace.ts"

/** What the members have agreed on, at the instant at which the first of them knows it. Nobody can write here. */
export class TruthLog implements SharedLog {
  readonly #keys: Keyspace
  readonly #observers: Set<() => void>
  readonly #ends = new Set<() => void>()

  /** `observers` are called whenever something was agreed on. */
  constructor(keys: Keyspace, observers: Set<() => void>) {
    this.#keys = keys
    this.#observers = observers
  }

  async read(page: (entries: readonly SharedEntry[]) => void): Promise<number> {
    page(this.#keys.entries())
    return this.#keys.revision
  }

  watch(after: number, observer: SharedLogObserver): { close(): void } {
    let told = after
    const tell = () => {
      const changes = this.#keys.changesAfter(told)
      told = this.#keys.revision
      if (changes.length > 0) observer.advanced(changes, told)
    }
    const close = () => {
      this.#observers.delete(tell)
      this.#ends.delete(close)
    }
    this.#observers.add(tell)
    this.#ends.add(close)
    tell()
    return { close }
  }

  async commit(): Promise<never> {
    throw new SharedLogError("refused", "Cannot write: this view of the log is for reading")
  }
  async latest(): Promise<number> {
    return this.#keys.revision
  }
  async compact(): Promise<void> {}
  close(): void {
    for (const close of this.#ends) close()
  }
}
