/**
 * How the API server stops. One whose clients know other servers goes without a failed request: it takes itself from
 * the endpoints of the Service `kubernetes`, goes on for a while, in which each answer closes its connection, then
 * takes no more connections, ends its watches, and answers what is under way. Source: the order of
 * staging/src/k8s.io/apiserver/pkg/server/genericapiserver.go, lifecycle_signals.go, and its
 * --shutdown-delay-duration.
 */
import { sleep, type Clock } from "../../pkg/clock/clock.ts"
import type { Listener } from "../../pkg/runtime/http/listen.ts"
import type { ApiCore } from "./api-core.ts"
import type { BesideApi } from "./serving/beside.ts"

/** How long requests that are being answered are waited for, in milliseconds. */
const GRACE_MS = 1000
/** The same where clients go to other servers meanwhile. */
export const LONG_GRACE_MS = 5000
/** How long an idle connection stays open there, in milliseconds. */
const LINGER_MS = 500

export interface StopServingOptions {
  readonly clock: Clock
  readonly listener: Listener | undefined
  readonly plane: Pick<ApiCore, "leave" | "endWatches" | "close">
  readonly beside: BesideApi | undefined
  /** How long it goes on before it takes no more connections, in milliseconds; undefined or 0: clients know no other. */
  readonly delayMs: number | undefined
}

export async function stopServing({ clock, listener, plane, beside, delayMs = 0 }: StopServingOptions): Promise<void> {
  const hasOthers = delayMs > 0 && listener !== undefined
  if (hasOthers) {
    await plane.leave()
    listener.announceEnd()
    await sleep(clock, delayMs)
    plane.endWatches()
  } else await plane.close()
  const stopped = listener?.stop(hasOthers ? { graceMs: LONG_GRACE_MS, lingerMs: LINGER_MS } : { graceMs: GRACE_MS })
  beside?.stop() // now that none can be opened again
  await stopped
  if (hasOthers) await plane.close()
}
