import type { EtcdConnection } from "../../../etcd/connection.ts"
import { RPC, TARGET, type Txn, type TxnResult } from "../../../etcd/messages.ts"
import type { Clock } from "../../../clock/clock.ts"
import type { SharedWrite } from "../shared-log.ts"
import { commitFailure } from "./failures.ts"
import { etcdRevisionOf, revisionOf, withPlace } from "./numbering.ts"

/**
 * Most operations of a transaction. Source: etcd's --max-txn-ops, 128 unless set, which counts those of the outer
 * transaction and of each inner one together.
 */
const MOST_WRITES = 128
const MOST_IN_BATCH = MOST_WRITES / 2
/** Most bytes of values in a batch of several commits; etcd's --max-request-bytes is 1.5 MiB unless set. */
const MOST_BYTES = 1024 * 1024
/** Transactions under way. While all are, commits gather for the next one. */
const MOST_UNDER_WAY = 4
/**
 * After this time the outcome of a transaction counts as unknown. etcd itself waits for seven seconds; but what was
 * sent to a leader that has died is lost, and after two seconds there is another leader.
 */
const TIMEOUT_MS = 3000

interface Waiting {
  readonly writes: readonly SharedWrite[]
  readonly bytes: number
  resolve(revisions: readonly number[] | undefined): void
  reject(err: unknown): void
}

/**
 * Sends commits to etcd. Those of one turn of the event loop, and those that come while enough are under way, go out
 * as one transaction with an inner one for each, so one that is refused does not hinder the rest: a call costs as much
 * as a dozen commits.
 */
export class CommitBatches {
  readonly #etcd: EtcdConnection
  readonly #clock: Clock
  #waiting: Waiting[] = []
  #underWay = 0
  #isSet = false

  constructor(etcd: EtcdConnection, clock: Clock) {
    this.#etcd = etcd
    this.#clock = clock
  }

  /** @throws SharedLogError */
  commit(writes: readonly SharedWrite[]): Promise<readonly number[] | undefined> {
    const bytes = writes.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ writes, bytes, resolve, reject })
      if (this.#isSet) return
      this.#isSet = true
      this.#clock.afterTurn(() => {
        this.#isSet = false
        this.#sendMore()
      })
    })
  }

  #sendMore(): void {
    while (this.#waiting.length > 0 && this.#underWay < MOST_UNDER_WAY) void this.#send(this.#next())
  }

  /** Takes the next commits that fit into one transaction, in which etcd wants each key once; at least one. */
  #next(): readonly Waiting[] {
    let [count, bytes] = [0, 0]
    const keys = new Set<string>()
    for (const waiting of this.#waiting) {
      bytes += waiting.bytes
      const isTooMuch = keys.size + waiting.writes.length > MOST_IN_BATCH || bytes > MOST_BYTES
      if (count > 0 && (isTooMuch || waiting.writes.some(({ key }) => keys.has(key)))) break
      for (const { key } of waiting.writes) keys.add(key)
      count++
    }
    return this.#waiting.splice(0, count)
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    this.#underWay++
    try {
      const commits = batch.map(({ writes }) => writes)
      const result = await this.#sent(txnOf(commits))
      const outcomes = outcomesOf(commits, result)
      batch.forEach(({ resolve }, i) => resolve(outcomes[i]))
    } catch (err) {
      const failure = commitFailure(err)
      for (const { reject } of batch) reject(failure)
    } finally {
      this.#underWay--
      this.#sendMore()
    }
  }

  /** Sends a transaction to one member; where it is certain that nothing was written, to the next one. */
  async #sent(txn: Txn): Promise<TxnResult> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#etcd.call(RPC.txn, txn, TIMEOUT_MS)
      } catch (err) {
        if (tries >= this.#etcd.members || commitFailure(err).code !== "unavailable") throw err
      }
    }
  }
}

/** Returns the transaction of some commits, whose keys are all different. */
export function txnOf(commits: readonly (readonly SharedWrite[])[]): Txn {
  let place = 0
  const inner = commits.map((writes) => ({
    compare: writes.map(({ key, expected }) => ({
      target: TARGET.mod,
      key: encoder.encode(key),
      modRevision: etcdRevisionOf(expected),
    })),
    success: writes.map(({ key, value }) => {
      const at = place++
      const bytes = encoder.encode(key)
      return value === undefined ? { delete: { key: bytes } } : { put: { key: bytes, value: withPlace(value, at) } }
    }),
  }))
  return inner.length === 1 ? inner[0]! : { success: inner.map((txn) => ({ txn })) }
}

/** Returns the revisions of the writes of each commit, or undefined where it was refused. */
export function outcomesOf(
  commits: readonly (readonly SharedWrite[])[],
  { header, succeeded, responses }: TxnResult,
): readonly (readonly number[] | undefined)[] {
  const revision = header?.revision ?? 0
  let [place, last] = [0, -1]
  return commits.map((writes, i) => {
    const isDone = commits.length === 1 ? succeeded : responses[i]?.txn?.succeeded === true
    if (!isDone) {
      place += writes.length
      return undefined
    }
    return writes.map(({ value }) => {
      last = value === undefined ? last + 1 : place
      place++
      return revisionOf(revision, last)
    })
  })
}

const encoder = new TextEncoder()
