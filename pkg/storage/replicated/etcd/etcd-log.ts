import type { Clock, Timer } from "../../../clock/clock.ts"
import { EtcdConnection, type EtcdOptions } from "../../../etcd/connection.ts"
import { RPC } from "../../../etcd/messages.ts"
import { CommitBatches, type Outcomes } from "../commit-batches.ts"
import {
  SharedLogError,
  type SharedEntry,
  type SharedLog,
  type SharedLogObserver,
  type SharedWrite,
} from "../shared-log.ts"
import { Compactor } from "./compactor.ts"
import { EtcdWatch } from "./etcd-watch.ts"
import { commitFailure, isUnknownLease, readFailure } from "./failures.ts"
import { Keys } from "./keys.ts"
import { Leases } from "./leases.ts"
import { Numbering, PLACES } from "./numbering.ts"
import { readRevisionBase } from "./revision-base.ts"
import { outcomesOf, txnOf } from "./transaction.ts"
import { largest } from "../../../lists/extremes.ts"

/** The number of objects in the first page that a server reads at its start, and the most objects of a page. */
const FIRST_PAGE = 100
const LONGEST_PAGE = 10_000
/**
 * The intended size of the pages after the first one, from which their number of objects follows: etcd cannot limit a
 * page by bytes.
 */
const PAGE_BYTES = 4 * 1024 * 1024
const PAGE_TIMEOUT_MS = 30_000
/** How long one member may take to return its newest revision, in milliseconds: long enough to elect a leader. */
const LATEST_TIMEOUT_MS = 2000
const PUT_TIMEOUT_MS = 2000
/**
 * After this time the outcome of a transaction counts as unknown, in milliseconds. etcd itself waits for seven seconds,
 * but a transaction that was sent to a dead leader is lost, and after two seconds there is a new leader.
 */
const COMMIT_TIMEOUT_MS = 3000
/**
 * The limits of a transaction of several commits. etcd's --max-txn-ops (default 128) counts the operations of the outer
 * transaction and of all inner ones together; its --max-request-bytes is 1.5 MiB by default.
 */
const LIMITS = { mostWrites: 64, mostBytes: 1024 * 1024, mostUnderWay: 4 }
/** How long to wait for the event of a revision before writing a key that makes the watch advance, in milliseconds. */
const NUDGE_MS = 20

/**
 * The log in etcd: each object is a key below /registry/, each change a revision of etcd.
 *
 * `latest` is a linearizable read, whose answer has etcd's newest revision. If that revision changed no object (another
 * program uses the same etcd), the watch gets no event for it. Then a key of our own is written, whose event comes
 * after all others. etcd's progress notifications would say the same without a write, but until 3.4.31 and 3.5.13 they
 * may come before the events that they stand for. Source: etcd issue 15220.
 */
export class EtcdLog implements SharedLog {
  readonly expires = true
  readonly #etcd: EtcdConnection
  readonly #clock: Clock
  readonly #numbering: Numbering
  readonly #keys: Keys
  readonly #batches: CommitBatches
  readonly #compactor: Compactor
  readonly #leases: Leases
  #watch: EtcdWatch | undefined
  #nudge: Timer | undefined
  readonly stride = PLACES
  /** The newest revision that a caller waits for. */
  #wanted = 0
  #closed = false

  /** Connects to an etcd and reads the base of its revisions. @throws SharedLogError unavailable */
  static async open(options: EtcdOptions): Promise<EtcdLog> {
    const etcd = new EtcdConnection(options)
    try {
      return new EtcdLog(options, etcd, await readRevisionBase(etcd))
    } catch (err) {
      etcd.close()
      return failRead(err)
    }
  }

  /** @param base the base of revisions; 0 for an etcd that has not replaced another store */
  constructor(options: EtcdOptions, etcd = new EtcdConnection(options), base = 0) {
    const { clock } = options
    this.#etcd = etcd
    this.#numbering = new Numbering(base)
    this.#keys = new Keys(this.#numbering)
    this.#clock = clock
    this.#batches = new CommitBatches({ ...LIMITS, clock, send: (commits) => this.#send(commits) })
    this.#leases = new Leases(etcd, clock)
    this.#compactor = new Compactor(this.#etcd, this.#numbering)
  }

  async read(page: (entries: readonly SharedEntry[]) => void): Promise<number> {
    const { rangeEnd } = this.#keys.range
    let { key } = this.#keys.range
    let [revision, limit] = [0, FIRST_PAGE]
    for (;;) {
      const request = { key, rangeEnd, limit, revision }
      const { header, kvs, more } = await this.#etcd.ask(RPC.range, request, PAGE_TIMEOUT_MS).catch(failRead)
      revision ||= header?.revision ?? 0
      page(
        kvs.flatMap((kv) => {
          const text = this.#keys.text(kv.key)
          return text === undefined ? [] : [this.#keys.entry(text, kv)]
        }),
      )
      const last = kvs.at(-1)
      if (!more || last === undefined) return this.#numbering.endOf(revision)
      key = keyAfter(last.key)
      const bytes = kvs.reduce((sum, { value }) => sum + value.length, 1)
      limit = Math.max(1, Math.min(LONGEST_PAGE, Math.floor((kvs.length * PAGE_BYTES) / bytes)))
    }
  }

  async before(key: string, revision: number): Promise<SharedEntry | undefined> {
    const at = this.#numbering.etcdRevisionOf(revision) - 1
    const request = { key: new TextEncoder().encode(key), revision: at }
    const { kvs } = await this.#etcd.ask(RPC.range, request, PAGE_TIMEOUT_MS).catch(failRead)
    return kvs[0] === undefined ? undefined : this.#keys.entry(key, kvs[0])
  }

  watch(after: number, observer: SharedLogObserver): { close(): void } {
    // From another etcd, before a reset of the cluster.
    if (this.#numbering.etcdRevisionOf(after) < 0) {
      queueMicrotask(() => observer.ended(new SharedLogError("compacted", `revision ${after} is of another etcd`)))
      return { close() {} }
    }
    const watch = new EtcdWatch(this.#etcd, this.#keys, after, observer)
    this.#watch = watch
    return watch
  }

  commit(writes: readonly SharedWrite[]): Promise<readonly number[] | undefined> {
    return this.#batches.commit(writes)
  }

  async latest(): Promise<number> {
    const request = { key: this.#keys.progress, keysOnly: true }
    const { header } = await this.#etcd.ask(RPC.range, request, LATEST_TIMEOUT_MS).catch(failRead)
    const revision = header?.revision ?? 0
    this.#wanted = Math.max(this.#wanted, revision)
    if (!this.#hasCome()) this.#nudgeLater()
    return this.#numbering.endOf(revision)
  }

  async compact(revision: number): Promise<void> {
    await this.#compactor.compact(revision).catch(failRead)
  }

  close(): void {
    this.#closed = true
    this.#nudge?.cancel()
    this.#watch?.close()
    this.#etcd.close()
  }

  /**
   * Sends one transaction with an inner one for each commit, so that a refused commit does not stop the others. It goes
   * to one member, and to the next one only if it is certain that nothing was written. If etcd no longer knows the
   * lease of the keys with a time to live, the transaction is sent again with a new lease.
   */
  async #send(commits: readonly (readonly SharedWrite[])[]): Promise<Outcomes> {
    const ttls = commits.flat().flatMap(({ value, ttlSeconds }) => (value === undefined ? [] : (ttlSeconds ?? [])))
    let attempts = this.#etcd.members
    for (let hasNewLease = false; ;) {
      const lease = ttls.length === 0 ? undefined : await this.#leases.of(largest(ttls), ttls.length).catch(failRead)
      try {
        const txn = txnOf(commits, this.#numbering, lease)
        return outcomesOf(commits, await this.#etcd.call(RPC.txn, txn, COMMIT_TIMEOUT_MS), this.#numbering)
      } catch (err) {
        const failure = commitFailure(err)
        if (!hasNewLease && isUnknownLease(failure)) {
          this.#leases.forget()
          hasNewLease = true
        } else if (--attempts === 0 || failure.code !== "unavailable") throw failure
      }
    }
  }

  #hasCome(): boolean {
    return this.#watch === undefined || this.#watch.reached >= this.#wanted
  }

  #nudgeLater(): void {
    this.#nudge ??= this.#clock.setTimeout(() => {
      this.#nudge = undefined
      if (this.#closed || this.#hasCome()) return
      // If this write fails, callers that wait for the revision time out.
      this.#etcd.call(RPC.put, { key: this.#keys.progress }, PUT_TIMEOUT_MS).catch(() => undefined)
    }, NUDGE_MS)
  }
}

function failRead(err: unknown): never {
  throw readFailure(err)
}

/** Returns the first key after `key`. */
function keyAfter(key: Uint8Array): Uint8Array<ArrayBuffer> {
  const next = new Uint8Array(key.length + 1)
  next.set(key)
  return next
}
