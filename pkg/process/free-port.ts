import { createServer } from "node:net"
import { sleep, type Clock } from "../clock/clock.ts"
import type { Logger } from "../log/log.ts"

/** How long a start waits for what a killed process has not given back yet, in milliseconds. */
export const GIVEN_BACK_MS = 10_000
const LOOK_AGAIN_MS = 20

/** Returns why this process cannot listen on a port; undefined when it can. */
export const portFault = (host: string, port: number): Promise<NodeJS.ErrnoException | undefined> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once("error", resolve)
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(undefined)))
  })

/**
 * Waits until a port is free that a killed process may still have, at most ten seconds. Resolves in any case: whoever
 * listens then says what is wrong.
 */
export const untilPortFree = (host: string, port: number, tools: WaitTools): Promise<boolean> =>
  untilGivenBack(`port ${port}`, async () => (await portFault(host, port))?.code !== "EADDRINUSE", tools)

export interface WaitTools {
  readonly clock: Clock
  readonly log: Logger
  readonly signal?: AbortSignal
}

/** Waits until `isFree`, at most ten seconds, and logs for what. Polled, since the kernel reports none of these. */
export async function untilGivenBack(
  what: string,
  isFree: () => boolean | Promise<boolean>,
  { clock, log, signal }: WaitTools,
): Promise<boolean> {
  const deadline = clock.monotonic() + GIVEN_BACK_MS
  for (let isTold = false; !(await isFree()); isTold = true) {
    if (clock.monotonic() > deadline) return false
    if (!isTold) log.info("Waiting for what an earlier process has not given back yet", { what, mostMs: GIVEN_BACK_MS })
    await sleep(clock, LOOK_AGAIN_MS, signal)
  }
  return true
}
