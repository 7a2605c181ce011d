import { get } from "node:http"
import { sleep, type Clock } from "../../pkg/clock/clock.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { EtcdEnd, EtcdProcess } from "./process.ts"

const TIMEOUT_MS = 2000
const FIRST_PAUSE_MS = 20
const LAST_PAUSE_MS = 500
/** When the log says that a majority is missing. An election takes up to twice its timeout. */
const PATIENCE_MS = 6000

export const QUORUM_LOST =
  "etcd has no majority: more than half of its members must run. Start the servers that are missing; where they are " +
  "gone for good, stop this one and run `k3ts server --cluster-reset`, which makes its data those of a cluster of one " +
  "server"

/** Says what can be done about an error of the store. */
export const explainEtcd = (message: string): string | undefined =>
  /no leader$|request timed out$/.test(message) ? QUORUM_LOST : undefined

/** etcd ended before it was healthy. */
export class EtcdEnded extends Error {
  override readonly name = "EtcdEnded"
  readonly end: EtcdEnd

  constructor(end: EtcdEnd) {
    super(end.reason)
    this.end = end
  }
}

export interface HealthOptions {
  readonly metricsPort: number
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Resolves when an etcd is healthy: it has a leader, so a majority runs. It is asked again and again, since it does not
 * tell. @throws EtcdEnded; the reason of `signal`
 */
export async function untilHealthy(etcd: EtcdProcess, options: HealthOptions): Promise<void> {
  const over = new AbortController()
  const gone = etcd.exited.then((end) => {
    throw new EtcdEnded(end)
  })
  try {
    const signal = AbortSignal.any([options.signal, over.signal])
    await Promise.race([gone, askUntilHealthy({ ...options, signal })])
  } finally {
    over.abort(new Error("etcd is healthy, or has ended"))
    gone.catch(() => undefined)
  }
}

async function askUntilHealthy({ metricsPort, clock, log, signal }: HealthOptions): Promise<void> {
  const from = clock.monotonic()
  let isReported = false
  for (let ms = FIRST_PAUSE_MS; !(await isHealthy(metricsPort, clock)); ms = Math.min(2 * ms, LAST_PAUSE_MS)) {
    if (!isReported && clock.monotonic() - from > PATIENCE_MS) {
      isReported = true
      log.warn("Waiting for more servers", { reason: QUORUM_LOST })
    }
    await sleep(clock, ms, signal)
  }
}

/** Asks the etcd of this machine. Source: etcd api/etcdhttp/metrics.go. */
function isHealthy(metricsPort: number, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (answer: boolean) => {
      timer.cancel()
      req.destroy()
      resolve(answer)
    }
    const req = get({ host: "127.0.0.1", port: metricsPort, path: "/health", agent: false }, (res) => {
      res.resume()
      settle(res.statusCode === 200)
    })
    const timer = clock.setTimeout(() => settle(false), TIMEOUT_MS)
    req.on("error", () => settle(false))
  })
}
