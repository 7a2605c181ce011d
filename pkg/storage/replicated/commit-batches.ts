import type { Clock } from "../../clock/clock.ts"
import type { SharedWrite } from "./shared-log.ts"

type Commit = readonly SharedWrite[]
/** For each commit the revisions of its writes, or undefined if it was refused. */
export type Outcomes = readonly (readonly number[] | undefined)[]

export interface BatchOptions {
  readonly clock: Clock
  /** The number of writes in one batch of commits. */
  readonly mostWrites: number
  /** The number of bytes of the keys and values of a batch. */
  readonly mostBytes: number
  /** The number of batches in progress. While there are this many, new commits wait and form the next batch. */
  readonly mostUnderWay: number
  /**
   * Sends commits, each of which may be refused without the others. No key is in two of them.
   * @throws SharedLogError
   */
  send(commits: readonly Commit[]): Promise<Outcomes>
}

interface Waiting {
  readonly writes: Commit
  readonly bytes: number
  resolve(revisions: readonly number[] | undefined): void
  reject(err: unknown): void
}

/**
 * Sends commits to a log in batches, because a call costs as much as a dozen commits. A batch contains the commits of
 * one turn of the event loop, or those that came while `mostUnderWay` batches were in progress. Each commit has its own
 * outcome.
 */
export class CommitBatches {
  readonly #options: BatchOptions
  #waiting: Waiting[] = []
  #underWay = 0
  #isSet = false

  constructor(options: BatchOptions) {
    this.#options = options
  }

  /** @throws SharedLogError */
  commit(writes: Commit): Promise<readonly number[] | undefined> {
    const bytes = writes.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ writes, bytes, resolve, reject })
      if (this.#isSet) return
      this.#isSet = true
      this.#options.clock.afterTurn(() => {
        this.#isSet = false
        this.#sendMore()
      })
    })
  }

  #sendMore(): void {
    while (this.#waiting.length > 0 && this.#underWay < this.#options.mostUnderWay) void this.#send(this.#next())
  }

  /** Takes the next commits that fit into one batch; at least one. */
  #next(): readonly Waiting[] {
    const { mostWrites, mostBytes } = this.#options
    let [count, bytes] = [0, 0]
    const keys = new Set<string>()
    for (const waiting of this.#waiting) {
      bytes += waiting.bytes
      const isTooMuch = keys.size + waiting.writes.length > mostWrites || bytes > mostBytes
      if (count > 0 && (isTooMuch || waiting.writes.some(({ key }) => keys.has(key)))) break
      for (const { key } of waiting.writes) keys.add(key)
      count++
    }
    return this.#waiting.splice(0, count)
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    this.#underWay++
    try {
      const outcomes = await this.#options.send(batch.map(({ writes }) => writes))
      batch.forEach(({ resolve }, i) => resolve(outcomes[i]))
    } catch (err) {
      for (const { reject } of batch) reject(err)
    } finally {
      this.#underWay--
      this.#sendMore()
    }
  }
}
