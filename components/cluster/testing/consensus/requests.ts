import type { Clock, Timer } from "../../../../pkg/clock/clock.ts"
import { SharedLogError, type SharedLogErrorCode } from "../../../../pkg/storage/replicated/shared-log.ts"

/** How long a request waits for its answer, in milliseconds. Source: etcd's ReqTimeout without disk time. */
const TIMEOUT_MS = 5000

interface Open {
  readonly resolve: (answer: unknown) => void
  readonly reject: (err: SharedLogError) => void
  readonly timer: Timer
  /** What a request without an answer ends with. */
  readonly lost: SharedLogErrorCode
  /** The number of items that must have been applied first, once that is known. */
  length?: number
}

/** The requests of one member that wait for the leader or for items. */
export class Requests {
  readonly #clock: Clock
  readonly #open = new Map<string, Open>()
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Opens a request. It fails with `lost` when no answer comes. */
  open<T>(
    lost: SharedLogErrorCode,
    id = `read ${this.#count++}`,
  ): { readonly id: string; readonly answer: Promise<T> } {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const timer = this.#clock.setTimeout(() => this.fail(id, lost, "no answer came in time"), TIMEOUT_MS)
    this.#open.set(id, { resolve: resolve as (answer: unknown) => void, reject, timer, lost })
    return { id, answer: promise }
  }

  answer(id: string, value: unknown): void {
    this.#take(id)?.resolve(value)
  }

  /** Answers a read once `length` items have been applied, of which `applied` are. */
  answerAt(id: string, length: number, applied: number): void {
    const open = this.#open.get(id)
    if (open === undefined) return
    open.length = length
    this.reached(applied)
  }

  /** Answers the reads that waited for this number of applied items. */
  reached(applied: number): void {
    for (const [id, { length }] of this.#open) if (length !== undefined && length <= applied) this.answer(id, undefined)
  }

  fail(id: string, code: SharedLogErrorCode, why: string): void {
    this.#take(id)?.reject(new SharedLogError(code, `Cannot reach the log: ${why}`))
  }

  /** Ends all requests, whose answers will not come. */
  loseAll(why: string): void {
    for (const [id, { lost }] of [...this.#open]) this.fail(id, lost, why)
  }

  #take(id: string): Open | undefined {
    const open = this.#open.get(id)
    this.#open.delete(id)
    open?.timer.cancel()
    return open
  }
}
