import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { dirname } from "node:path"
import type { Clock, Timer } from "../clock/clock.ts"
import type { Logger } from "../log/log.ts"
import type { Registry } from "../metrics/registry.ts"
import { watchFolder } from "../process/watch-folder.ts"
import { ConfigurationError } from "./config-file.ts"

export interface FollowedFile {
  readonly file: string
  /** The content that is in use. */
  readonly text: string
  /**
   * Puts a changed content into use, or throws and leaves all as it is: a ConfigurationError where that content can
   * never be used, else it is tried again.
   */
  readonly use: (text: string) => void | Promise<void>
  /** What the file is, for the log: `authentication configuration`. */
  readonly what: string
  readonly metrics?: ReloadMetrics | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** Delays before a content that could not be put into use is tried again, in milliseconds. */
const FIRST_RETRY_MS = 1000
const LAST_RETRY_MS = 60_000

/**
 * Follows a configuration file while the server runs, also where it is a link that changes. A content that cannot be
 * used is logged and counted, and the one before it stays in use. Returns the function that ends this. Differs from
 * upstream: the kernel tells of changes, where upstream looks once a minute.
 */
export function followFile({ file, text, use, what, metrics, clock, log }: FollowedFile): () => void {
  let [inUse, refused] = [text, undefined as string | undefined]
  let [isRunning, isDue, isOver] = [false, false, false]
  let retry: Timer | undefined
  let retryMs = FIRST_RETRY_MS
  metrics?.inUse(text)

  async function reload(): Promise<void> {
    let found: string | undefined
    try {
      found = readFileSync(file, "utf8")
      if (found === inUse) refused = undefined
      if (found === inUse || found === refused) return
      await use(found)
      if (isOver) return
      inUse = found
      refused = undefined
      retryMs = FIRST_RETRY_MS
      metrics?.reloaded("success")
      metrics?.inUse(found)
      log.info(`Loaded the changed ${what}`, { file })
    } catch (error) {
      if (isOver) return
      metrics?.reloaded("failure")
      log.error(`Failed to load the changed ${what}; the last valid one applies`, { file, error })
      if (error instanceof ConfigurationError) refused = found
      else {
        retry = clock.setTimeout(check, retryMs)
        retryMs = Math.min(2 * retryMs, LAST_RETRY_MS)
      }
    }
  }

  function check(): void {
    isDue = true
    if (isRunning || isOver) return
    retry?.cancel()
    isRunning = true
    isDue = false
    void reload().then(() => {
      isRunning = false
      if (isDue) check()
    })
  }

  const endWatch = watchFolder(dirname(file), check, { clock, mode: 0o700 })
  check()
  return () => {
    isOver = true
    endWatch()
    retry?.cancel()
  }
}

/**
 * The metrics of a configuration that is reloaded, under upstream's names. Source: apiserver
 * pkg/server/options/authenticationconfig/metrics. Differs from upstream: there is no label for the server.
 */
export class ReloadMetrics {
  readonly #clock: Clock
  readonly #reloads
  readonly #reloadedAt
  readonly #info
  #hash: string | undefined

  /** @param prefix such as `apiserver_authentication_config_controller` */
  constructor(registry: Registry, prefix: string, clock: Clock) {
    this.#clock = clock
    this.#reloads = registry.counter(`${prefix}_automatic_reloads_total`, "Reloads of the configuration.", "status")
    this.#reloadedAt = registry.gauge(
      `${prefix}_automatic_reload_last_timestamp_seconds`,
      "When the configuration was last reloaded, or could not be.",
      "status",
    )
    this.#info = registry.gauge(`${prefix}_last_config_info`, "The hash of the configuration in use.", "hash")
  }

  reloaded(status: "success" | "failure"): void {
    this.#reloads.with(status).inc()
    this.#reloadedAt.with(status).set(this.#clock.now() / 1000)
  }

  inUse(text: string): void {
    if (this.#hash !== undefined) this.#info.remove(this.#hash)
    this.#hash = `sha256:${createHash("sha256").update(text).digest("hex")}`
    this.#info.with(this.#hash).set(1)
  }
}
