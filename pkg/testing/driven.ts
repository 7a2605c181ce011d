import type { VirtualClock } from "../clock/virtual.ts"

/** Waits for work that may itself wait for time: where the clock is a virtual one, it is moved from timer to timer until all is done. */
export async function driven(clock: VirtualClock | undefined, work: readonly Promise<unknown>[]): Promise<void> {
  let done = false
  const all = Promise.all(work).finally(() => (done = true))
  all.catch(() => undefined)
  for (await clock?.settle(); clock !== undefined && !done;) {
    const due = clock.nextDue
    if (due === undefined) break
    await clock.advanceTo(due)
  }
  await all
}
