import type { Clock } from "../../pkg/clock/clock.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { Host } from "../../pkg/netfilter/host.ts"
import type { ProxyMetrics } from "./metrics.ts"

export interface FlowCleanerParts {
  readonly host: Host
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Pick<ProxyMetrics, "conntrackSync" | "conntrackDeleted">
}

/** `conntrack` ends with this code when nothing matched, which is fine. */
const NOTHING_MATCHED = 1

/**
 * Has the kernel forget connections, one call of `conntrack` after the other, beside the synchronisation of rules and
 * never in its way: a call takes milliseconds on an idle machine and much more on a loaded one. What is asked for twice
 * is done once. It does no harm when an endpoint has come back in the meantime: the flow's next packet is led by the
 * rules that hold then.
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

  /** `stale` are arguments of `conntrack`. */
  forget(stale: readonly (readonly string[])[]): void {
    for (const args of stale) this.#waiting.set(args.join(" "), args)
    if (this.#waiting.size > 0) this.#working ??= this.#work().finally(() => (this.#working = undefined))
  }

  /** What has not been begun is left out. */
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
      // It prints a line for each.
      const deleted = (await host.run("conntrack", args)).split("\n").filter((line) => line !== "").length
      metrics.conntrackDeleted.inc(deleted)
    } catch (err) {
      if (err instanceof Error && "code" in err && err.code === NOTHING_MATCHED) return
      const complaint = err instanceof Error ? err.message : String(err)
      // A machine without the program would complain at each Service.
      if (complaint === this.#complaint) return
      this.#complaint = complaint
      log.warn("Cannot have the kernel forget connections that lead nowhere any more", { err })
    }
  }
}
