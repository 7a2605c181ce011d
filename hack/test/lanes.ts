import type { Part } from "./part.ts"

/**
 * Returns how many parts run at a time on so many processors: one more, since a part uses three quarters of one, and
 * waits for containers, timeouts and the disk for the rest. On one processor parts are shown as they run, one by one.
 */
export const lanesFor = (processors: number): number => (processors > 1 ? processors + 1 : 1)

/**
 * Runs parts side by side, at most `lanes` at a time, in their order. With several lanes one of them runs the parts that
 * need the machine as a node, one after another, as long as there are any; parts that must have the machine for
 * themselves come last.
 */
export async function runInLanes<P extends Pick<Part, "beside">>(
  parts: readonly P[],
  lanes: number,
  run: (part: P) => Promise<void>,
): Promise<void> {
  const waiting = [
    ...parts.filter(({ beside }) => beside !== "nothing"),
    ...parts.filter(({ beside }) => beside === "nothing"),
  ]
  const running = new Map<P, Promise<void>>()
  const isRunning = (beside: Part["beside"]) => [...running.keys()].some((part) => part.beside === beside)
  const mayStart = ({ beside }: P) =>
    !isRunning("nothing") &&
    (beside === "all" || (beside === "nothing" ? running.size === 0 : !isRunning("no other node")))
  const next = (): P | undefined =>
    (lanes > 1 ? waiting.find((part) => part.beside === "no other node" && mayStart(part)) : undefined) ??
    waiting.find(mayStart)
  while (waiting.length > 0 || running.size > 0) {
    for (let part = next(); part !== undefined && running.size < lanes; part = next()) {
      const started = part
      waiting.splice(waiting.indexOf(started), 1)
      running.set(
        started,
        run(started).finally(() => running.delete(started)),
      )
    }
    await Promise.race(running.values())
  }
}
