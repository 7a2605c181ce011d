/**
 * A recording (docs/replay.md) that is played in a test cluster.
 *
 * The seams: `loaded-replay.ts` makes of the file what the cluster begins with. The kubelets start first, some time
 * before the recording begins, and their containers do what `container-runs.ts` has found in the recorded reports of
 * nodes (`recorded-images.ts`). At the recorded time, `Replay.begin` restores what was recorded (`beginning.ts`), and
 * controllers and scheduler start. `player.ts` makes the writes of outside authors (`authors.ts`) at their times, as
 * changes of fields. What controllers create gets the recorded names and UIDs (`replay-store.ts`, `identities.ts`), and
 * the scheduler takes the recorded one of equal nodes. `comparison.ts` has the states of each object in both runs, and
 * `difference.ts` says where they part.
 */
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { parseStored } from "../../../apiserver/store/parse-stored.ts"
import { atBegin } from "./beginning.ts"
import { Comparison } from "./comparison.ts"
import type { ReplayDifference } from "./difference.ts"
import { prefixOf } from "./keys.ts"
import type { LoadedReplay } from "./loaded-replay.ts"
import { Player } from "./player.ts"
import type { ReplayStore } from "./replay-store.ts"
import type { RunningReplay } from "./running-replay.ts"

export interface ReplayParts {
  readonly clock: Clock
  readonly storage: ReplayStore
  /** Takes an error that the test is to see. */
  readonly thrown: Error[]
}

/** Kinds that a cluster writes for itself while it starts. */
const EVENTS = ["/registry/core/events/", "/registry/events.k8s.io/events/"]

/** The replay of one cluster. */
export class Replay implements RunningReplay {
  readonly #loaded: LoadedReplay
  readonly #parts: ReplayParts
  readonly #comparison: Comparison
  readonly #player: Player
  #unsubscribe: (() => void) | undefined

  constructor(loaded: LoadedReplay, parts: ReplayParts) {
    this.#loaded = loaded
    this.#parts = parts
    this.#comparison = new Comparison(loaded)
    this.#player = new Player({
      clock: parts.clock,
      storage: parts.storage,
      writes: loaded.writes,
      objects: loaded.objects,
      played: (revision) => this.#comparison.played(revision),
      failed: (err) => parts.thrown.push(err instanceof Error ? err : new Error(String(err))),
    })
  }

  /** When the recording begins and ends, in milliseconds since the epoch. */
  get begin(): number {
    return this.#loaded.begin
  }
  get end(): number {
    return this.#loaded.end
  }
  get toleranceMs(): number {
    return this.#loaded.toleranceMs
  }
  get left(): readonly string[] {
    return this.#loaded.left
  }

  /** Makes everything as it was recorded at the beginning. To be called at that time, before controllers run. */
  async restore(): Promise<void> {
    const { storage, clock } = this.#parts
    const { objects } = this.#loaded
    const write = (key: string, object: Parameters<ReplayStore["play"]>[0]["object"]) =>
      storage.play({ key, object, expected: undefined, time: clock.now(), author: "system:apiserver" })
    for (const { key } of EVENTS.flatMap((prefix) => storage.list(prefix))) await write(key, null)
    for (const [key, recorded] of objects) {
      const live = storage.get(key)
      if (EVENTS.includes(prefixOf(key))) continue
      const wanted = atBegin(recorded, live?.object)
      const json = JSON.stringify(wanted)
      if (live !== undefined && isSame(live.object, wanted)) continue
      await write(key, parseStored(key, json))
    }
  }

  /** Begins to play, and to compare. */
  start(): void {
    this.#unsubscribe = this.#parts.storage.subscribe((events) => this.#comparison.take(events))
    this.#player.start()
  }

  stop(): void {
    this.#player.stop()
    this.#unsubscribe?.()
  }

  difference(now: number): ReplayDifference | undefined {
    return this.#comparison.first(now)
  }
}

/** Whether two objects are the same but for their revisions. */
const isSame = (a: object, b: object): boolean => withoutRevision(a) === withoutRevision(b)

const withoutRevision = (object: object): string =>
  JSON.stringify(object, (key, value: unknown) => (key === "resourceVersion" ? undefined : value))
