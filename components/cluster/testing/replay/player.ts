import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { Clock, Timer } from "../../../../pkg/clock/clock.ts"
import { rebase } from "../../../../pkg/history/undo/rebase.ts"
import { StorageError, type Stored } from "../../../../pkg/storage/storage.ts"
import { parseStored } from "../../../apiserver/store/parse-stored.ts"
import type { PlacedWrite } from "./placed-write.ts"
import type { ReplayStore } from "./replay-store.ts"

export interface PlayerOptions {
  readonly clock: Clock
  readonly storage: ReplayStore
  /** All recorded writes, in their order. */
  readonly writes: readonly PlacedWrite[]
  /** The recorded objects at the beginning, by their keys. */
  readonly objects: ReadonlyMap<string, KubeObject>
  /** Called with the revision of a write that was played. */
  readonly played: (revision: number) => void
  readonly failed: (err: unknown) => void
}

/**
 * Makes the recorded writes of outside authors at their times: as changes of fields on what there is in the replay,
 * where controllers may have written something else.
 */
export class Player {
  readonly #options: PlayerOptions
  /** The recorded state as far as it is played. */
  readonly #recorded: Map<string, KubeObject>
  #next = 0
  #timer: Timer | undefined

  constructor(options: PlayerOptions) {
    this.#options = options
    this.#recorded = new Map(options.objects)
  }

  start(): void {
    this.#wait()
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** Sets the timer for the next write that is to be played. */
  #wait(): void {
    const { writes, clock } = this.#options
    let due = this.#next
    while (due < writes.length && writes[due]!.author !== "outside") due++
    if (due >= writes.length) return
    const { time } = writes[due]!
    this.#timer = clock.setTimeout(
      () => void this.#until(time).catch(this.#options.failed),
      Math.max(0, time - clock.now()),
    )
  }

  /** Plays the writes up to a time. */
  async #until(time: number): Promise<void> {
    const { writes } = this.#options
    for (; this.#next < writes.length && writes[this.#next]!.time <= time; this.#next++) {
      const write = writes[this.#next]!
      const { key, object, author, verb } = write
      const before = this.#recorded.get(key)
      if (verb === "delete") this.#recorded.delete(key)
      else this.#recorded.set(key, object)
      if (author === "outside") await this.#play(write, before)
    }
    if (this.#timer !== undefined) this.#wait()
  }

  async #play({ key, object, verb, user, clients }: PlacedWrite, before: KubeObject | undefined): Promise<void> {
    const { storage, clock, played } = this.#options
    for (;;) {
      const live = storage.get(key)
      // What is not there in the replay cannot be changed or deleted there.
      if (live === undefined && verb !== "create") return
      const made = verb === "delete" ? null : madeOf(key, live, before, object)
      const author = user === "" ? (clients[0] ?? "") : user
      try {
        const stored = await storage.play({
          key,
          object: made,
          expected: live?.revision ?? 0,
          time: clock.now(),
          author,
        })
        played(stored.revision)
        return
      } catch (err) {
        // Another write of the same turn came first.
        if (!(err instanceof StorageError) || (err.code !== "conflict" && err.code !== "exists")) throw err
      }
    }
  }
}

/** Makes the recorded change on an object of the replay. */
function madeOf(key: string, live: Stored | undefined, before: KubeObject | undefined, after: KubeObject): KubeObject {
  const merged = live === undefined ? after : (rebase(plain(live.object), before, after, "kept").value as KubeObject)
  const generation =
    live?.object.metadata.generation === undefined || after.metadata.generation === undefined
      ? after.metadata.generation
      : live.object.metadata.generation + Math.max(0, after.metadata.generation - (before?.metadata.generation ?? 0))
  const metadata = { ...merged.metadata, ...(generation === undefined ? {} : { generation }) }
  return parseStored(key, JSON.stringify({ ...merged, metadata }))
}

/** An object without what the store keeps as text. */
const plain = (object: KubeObject): KubeObject => JSON.parse(JSON.stringify(object)) as KubeObject
