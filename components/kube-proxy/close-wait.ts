import { readFile, writeFile } from "node:fs/promises"
import type { Clock } from "../../pkg/clock/clock.ts"
import { Upkeep } from "../../pkg/component/upkeep.ts"
import type { Logger } from "../../pkg/log/log.ts"

const CLOSE_WAIT = "/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close_wait"

/** How long kube-proxy of Kubernetes has the kernel keep such a connection, in seconds, unless it is told otherwise. */
export const CLOSE_WAIT_S = 3600

/**
 * Sets how long the kernel keeps a translated TCP connection that one side has closed while the other still sends:
 * `seconds`, in a whole number; 0 leaves the kernel's own time. That is 60 s, after which the rest of a slow answer
 * from a Service is lost. Source: pkg/proxy/conntrack/sysctls.go, `--conntrack-tcp-timeout-close-wait`.
 * @throws Error when the setting cannot be read or written, as in a container that may not, or without connection
 * tracking
 */
export async function keepCloseWait(seconds: number, file = CLOSE_WAIT): Promise<void> {
  if (seconds === 0) return
  const wanted = String(seconds)
  if ((await readFile(file, "utf8")).trim() === wanted) return
  await writeFile(file, wanted)
}

export interface CloseWaitOptions {
  readonly clock: Clock
  readonly log: Logger
  /** As for `keepCloseWait`. */
  readonly seconds: number
  readonly file?: string
}

/**
 * Sets this at the start, and once a minute: another program may change it, and the kernel has the setting only once
 * something tracks connections. Start it when the rules are written, which make the kernel do so.
 */
export class CloseWait {
  readonly #options: CloseWaitOptions
  readonly #upkeep: Upkeep

  constructor(options: CloseWaitOptions) {
    this.#options = options
    const { clock, log } = options
    const failed = (err: unknown) => log.debug(FAILED, { err })
    this.#upkeep = new Upkeep({ clock, mend: () => this.#set(), failed })
  }

  async start(): Promise<void> {
    await this.#set().catch((err: unknown) => this.#options.log.warn(FAILED, { err }))
    this.#upkeep.start()
  }

  stop(): Promise<void> {
    return this.#upkeep.stop()
  }

  #set(): Promise<void> {
    return keepCloseWait(this.#options.seconds, this.#options.file)
  }
}

const FAILED = "Failed to have the kernel keep connections that one side has closed"
