import type { Clock } from "../clock/clock.ts"
import { TurnGate } from "../clock/turn-gate.ts"

/** How much is done at once of a list that users may make very long. */
export interface Pace {
  /** Items that are in progress at the same time. */
  readonly atOnce: number
  /** Items that begin in one turn of the event loop. */
  readonly inTurn: number
}

/** Does `work` for each item at the given pace, and resolves to the results, in the order of the items. */
export async function settleFew<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  { atOnce, inTurn }: Pace,
  clock: Pick<Clock, "afterTurn">,
): Promise<readonly PromiseSettledResult<void>[]> {
  const gate = new TurnGate(clock, inTurn)
  const results: PromiseSettledResult<void>[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const i = next++
      const turn = gate.pass()
      if (turn !== undefined) await turn
      results[i] = await work(items[i]!).then(FULFILLED, rejected)
    }
  }
  await Promise.all(Array.from({ length: Math.min(items.length, atOnce) }, worker))
  return results
}

const FULFILLED = (): PromiseFulfilledResult<void> => ({ status: "fulfilled", value: undefined })
const rejected = (reason: unknown): PromiseRejectedResult => ({ status: "rejected", reason })
