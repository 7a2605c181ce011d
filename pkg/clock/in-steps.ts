import type { Clock } from "./clock.ts"
import { nextTurn } from "./next-turn.ts"

/** How long steps run before others get their turn, in milliseconds. */
const SLICE_MS = 10

/** Runs the steps of long work, and lets everything else run after each few milliseconds. Resolves to the result. */
export async function inSteps<T>(steps: Iterator<void, T>, clock: Pick<Clock, "monotonic" | "afterTurn">): Promise<T> {
  let since = clock.monotonic()
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (clock.monotonic() - since < SLICE_MS) continue
    await nextTurn(clock)
    since = clock.monotonic()
  }
}
