import type { Clock } from "../../pkg/clock/clock.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { Host } from "../../pkg/netfilter/host.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import type { ProxyMetrics } from "./metrics.ts"

export interface FlowCleanerParts {
  readonly host: Host
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Pick<ProxyMetrics, "conntrackSync" | "conntrackDeleted">
}

/** The exit code of `conntrack` when no flow matched, which is not an error. */
const NOTHING_MATCHED = 1

/**
 * Makes the kernel forget flows, with one call of `conntrack` after the other, independently of the synchronization of
 * rules: a call takes milliseconds on an idle machine and much more on a busy one. Duplicate requests are merged. It
 * does no harm if an endpoint has returned meanwhile, since the flow's next packet follows the current rules.
 */
export class FlowCleaner {
  readonly #parts: FlowCleanerParts
  readonly #waiting = new Map<string, readonly string[]>()
  #working: Promise<void> | undefined
  #stopped = false
  #complaint: string | undefined

  constructor(parts: FlowCleanerParts) {
    this.#parts = parts
  }

  /** `stale` has the arguments of `conntrack`. */
  forget(stale: readonly (readonly string[])[]): void {
    for (const args of stale) this.#waiting.set(args.join(" "), args)
    if (this.#waiting.size > 0) this.#working ??= this.#work().finally(() => (this.#working = undefined))
  }

  /** Calls that have not begun are left out. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#waiting.clear()
    await this.#working
  }

  async #work(): Promise<void> {
    const { clock, metrics } = this.#parts
    const began = clock.monotonic()
    for (const [key, args] of this.#waiting) {
      if (this.#stopped) break
      this.#waiting.delete(key)
      await this.#call(args)
    }
    metrics.conntrackSync.observe((clock.monotonic() - began) / 1000)
  }

  async #call(args: readonly string[]): Promise<void> {
    const { host, log, metrics } = this.#parts
    try {
      // `conntrack` prints a line for each flow.
      const deleted = (await host.run("conntrack", args)).split("\n").filter((line) => line !== "").length
      metrics.conntrackDeleted.inc(deleted)
    } catch (err) {
      if (err instanceof Error && "code" in err && err.code === NOTHING_MATCHED) return
      const complaint = errorMessage(err)
      // Logged once, since a machine without the program would log it for every Service.
      if (complaint === this.#complaint) return
      this.#complaint = complaint
      log.warn("Failed to remove connections to endpoints that are gone", { err })
    }
  }
}
