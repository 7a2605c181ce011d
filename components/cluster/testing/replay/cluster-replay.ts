import type { ClusterParts } from "../cluster-parts.ts"
import { moveTime } from "../time/move-time.ts"
import type { ReplayDifference } from "./difference.ts"
import type { NodeFaults } from "./node-player.ts"
import type { RunningReplay } from "./running-replay.ts"

/** Returns what makes nodes of a cluster fail as they have in a recording. */
export const nodeFaultsOf = ({ faults, nodes }: Pick<ClusterParts, "faults" | "nodes">): NodeFaults => ({
  lose: (node, isCutOff) => (isCutOff ? faults.nodePartitioned(node) : faults.nodeLost(node)),
  turnOn: async (node) => nodes.simulated.get(node)?.powerOn(),
  has: (node) => nodes.simulated.has(node),
  async add(node) {
    const { specOf } = await import("../snapshot.ts")
    await nodes.add(specOf(node))()
  },
})

/** What a test sees of the replay of its cluster. */
export class ClusterReplay {
  readonly #replay: RunningReplay
  readonly #parts: ClusterParts

  /** @internal */
  constructor(replay: RunningReplay, parts: ClusterParts) {
    this.#replay = replay
    this.#parts = parts
  }

  /** When the recording begins and ends. */
  get begin(): Date {
    return new Date(this.#replay.begin)
  }
  get end(): Date {
    return new Date(this.#replay.end)
  }

  /** In words, what the recording has not, or what is not played of it. */
  get left(): readonly string[] {
    return this.#replay.left
  }

  /**
   * Returns where a controller, the scheduler or what the test runs has first done something else than the recording;
   * undefined while all is the same. What is younger than the tolerance is not compared yet.
   */
  difference(): ReplayDifference | undefined {
    return this.#replay.difference(this.#parts.clock.now())
  }

  /** Plays the rest of the recording, and returns the first difference; undefined when all was the same. */
  async ended(): Promise<ReplayDifference | undefined> {
    const { clock } = this.#parts
    const end = this.#replay.end + this.#replay.toleranceMs
    if (clock.now() < end) await moveTime("replay.ended", this.#parts, (virtual) => virtual.advanceTo(end))
    return this.#replay.difference(end)
  }
}
