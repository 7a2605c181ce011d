/**
 * A recording (docs/replay.md) that is played in a test cluster.
 *
 * The seams: `loaded-replay.ts` makes of the file what the cluster begins with: its objects, and on its nodes the
 * containers that run, which go on as `container-runs.ts` has found in the recorded reports of kubelets, as later ones
 * do (`recorded-images.ts`). `player.ts` makes the writes of outside authors (`authors.ts`) at their times, as changes
 * of fields. What controllers create gets the recorded names and UIDs (`replay-store.ts`, `identities.ts`), and the
 * scheduler takes the recorded one of equal nodes. `comparison.ts` has the states of each object in both runs, and
 * `difference.ts` says where they part.
 */
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { Comparison } from "./comparison.ts"
import type { ReplayDifference } from "./difference.ts"
import type { LoadedReplay } from "./loaded-replay.ts"
import { NodePlayer, type NodeFaults } from "./node-player.ts"
import { Player } from "./player.ts"
import type { ReplayStore } from "./replay-store.ts"
import type { RunningReplay } from "./running-replay.ts"

export interface ReplayParts {
  readonly clock: Clock
  readonly storage: ReplayStore
  /** Takes an error that the test is to see. */
  readonly thrown: Error[]
}

/** The replay of one cluster. */
export class Replay implements RunningReplay {
  readonly #loaded: LoadedReplay
  readonly #parts: ReplayParts
  readonly #comparison: Comparison
  readonly #player: Player
  readonly #nodes: NodePlayer
  #unsubscribe: (() => void) | undefined

  constructor(loaded: LoadedReplay, parts: ReplayParts) {
    this.#loaded = loaded
    this.#parts = parts
    this.#comparison = new Comparison(loaded)
    const failed = (err: unknown) => void parts.thrown.push(err instanceof Error ? err : new Error(String(err)))
    this.#nodes = new NodePlayer(parts.clock, failed)
    this.#player = new Player({
      clock: parts.clock,
      storage: parts.storage,
      writes: loaded.writes,
      objects: loaded.objects,
      played: (revision) => this.#comparison.played(revision),
      failed,
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

  /** Begins to play, and to compare. */
  start(nodes: NodeFaults): void {
    this.#unsubscribe = this.#parts.storage.subscribe((events) => this.#comparison.take(events))
    this.#player.start()
    this.#nodes.start(this.#loaded, nodes)
  }

  stop(): void {
    this.#player.stop()
    this.#nodes.stop()
    this.#unsubscribe?.()
  }

  difference(now: number): ReplayDifference | undefined {
    return this.#comparison.first(now)
  }
}
