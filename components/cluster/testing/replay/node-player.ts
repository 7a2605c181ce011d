import type { Clock, Timer } from "../../../../pkg/clock/clock.ts"
import type { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import type { NodeJoin, NodeLoss } from "./node-losses.ts"

/** What becomes of nodes in a recording. */
export interface NodePlan {
  readonly losses: readonly NodeLoss[]
  readonly joins: readonly NodeJoin[]
}

/** What makes nodes fail, and ends that. */
export interface NodeFaults {
  lose(node: string, isCutOff: boolean): Promise<{ end(): Promise<void> }>
  /** Turns a node on that has been off since the cluster began. */
  turnOn(node: string): Promise<void>
  has(node: string): boolean
  /** Adds a node that joins. */
  add(node: Node): Promise<void>
}

/** Loses nodes, and brings them back, at the recorded times. */
export class NodePlayer {
  readonly #clock: Clock
  readonly #failed: (err: unknown) => void
  readonly #timers: Timer[] = []

  constructor(clock: Clock, failed: (err: unknown) => void) {
    this.#clock = clock
    this.#failed = failed
  }

  start({ losses, joins }: NodePlan, faults: NodeFaults): void {
    for (const { node, time } of joins)
      this.#at(time, async () => {
        if (!faults.has(node.metadata.name ?? "")) await faults.add(node)
      })
    for (const loss of losses) this.#play(loss, faults)
  }

  stop(): void {
    for (const timer of this.#timers) timer.cancel()
  }

  #play({ node, from, to, isCutOff }: NodeLoss, faults: NodeFaults): void {
    let fault: { end(): Promise<void> } | undefined
    if (from !== undefined)
      this.#at(from, async () => {
        if (faults.has(node)) fault = await faults.lose(node, isCutOff)
      })
    if (to !== undefined)
      this.#at(to, async () => {
        if (from !== undefined) await fault?.end()
        else if (faults.has(node)) await faults.turnOn(node)
      })
  }

  #at(time: number, work: () => Promise<void>): void {
    const ms = Math.max(0, time - this.#clock.now())
    this.#timers.push(this.#clock.setTimeout(() => void work().catch(this.#failed), ms))
  }
}
