import { EtcdError, type EtcdConnection } from "../../../etcd/connection.ts"
import { isDeletion, type EtcdEvent, type WatchAnswer } from "../../../etcd/messages.ts"
import { SharedLogError, type SharedChange, type SharedLogObserver } from "../shared-log.ts"
import { readFailure } from "./failures.ts"
import type { Keys } from "./keys.ts"
import { placeOf } from "./numbering.ts"
import { pushAll } from "../../../lists/push-all.ts"

/** Turns the events of an etcd watch into changes of the log. */
export class EtcdWatch {
  readonly #observer: SharedLogObserver
  readonly #keys: Keys
  readonly #stream: { close(): void }
  /** The parts of a fragmented message that have arrived so far. */
  #parts: EtcdEvent[] = []
  /** The etcd revision up to which the observer has been told of all changes. */
  reached: number

  constructor(etcd: EtcdConnection, keys: Keys, after: number, observer: SharedLogObserver) {
    this.#observer = observer
    this.#keys = keys
    this.reached = keys.numbering.etcdRevisionOf(after)
    this.#stream = etcd.watch(
      { ...keys.range, startRevision: this.reached + 1 },
      { answered: (answer) => this.#answered(answer), ended: (err) => observer.ended(readFailure(err)) },
    )
  }

  close(): void {
    this.#stream.close()
  }

  #answered({ canceled, compactRevision, cancelReason, fragment, events }: WatchAnswer): void {
    if (canceled) {
      this.close()
      const reason = cancelReason === "" ? "etcd has cancelled the watch" : cancelReason
      const error = new SharedLogError("compacted", `changes up to revision ${compactRevision} are gone`)
      return this.#observer.ended(compactRevision > 0 ? error : readFailure(new EtcdError("Unavailable", reason)))
    }
    pushAll(this.#parts, events)
    if (fragment || this.#parts.length === 0) return
    const all = this.#parts
    this.#parts = []
    this.reached = all.at(-1)!.kv!.modRevision
    this.#observer.advanced(changesOf(all, this.#keys), this.#keys.numbering.endOf(this.reached))
  }
}

/** Returns the changes of whole transactions. */
export function changesOf(events: readonly EtcdEvent[], keys: Keys): readonly SharedChange[] {
  const changes: SharedChange[] = []
  let [before, last] = [0, -1]
  for (const event of events) {
    const { modRevision } = event.kv!
    if (modRevision !== before) last = -1
    before = modRevision
    const key = keys.text(event.kv!.key)
    if (key === undefined) continue
    if (isDeletion(event)) {
      changes.push({ key, revision: keys.numbering.revisionOf(modRevision, ++last), value: undefined })
      continue
    }
    const entry = keys.entry(key, event.kv!)
    last = placeOf(event.kv!.value).place
    changes.push(entry)
  }
  return changes
}
