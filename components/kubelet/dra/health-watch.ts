import { sleep, type Clock } from "../../../pkg/clock/clock.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import type { Channel } from "../../../pkg/cri/channel.ts"
import { CriError } from "../../../pkg/cri/errors.ts"
import { NodeWatchResources, type ReportedHealth } from "./dra-health-service.ts"

export interface HealthWatchOptions {
  readonly channel: Channel
  readonly clock: Clock
  readonly spawn: ComponentContext["spawn"]
  readonly reported: (devices: readonly ReportedHealth[]) => void
  /** Called when a stream has ended that had reported. */
  readonly lost: () => void
}

/** Milliseconds before a stream that ended is opened again. Source: dra_plugin_manager.go RegisterPlugin. */
const RETRY_MS = 5000

/**
 * Follows the stream in which a plugin reports the health of its devices, while the plugin is connected. Differs from
 * upstream: a plugin without that service is asked again only after it has connected anew.
 */
export class HealthWatch {
  readonly #options: HealthWatchOptions
  readonly #ending = new AbortController()
  #isConnected = false
  #isFollowing = false
  #hasReported = false

  constructor(options: HealthWatchOptions) {
    this.#options = options
  }

  /** Whether a stream is open that has reported. */
  get hasReported(): boolean {
    return this.#hasReported
  }

  /** Called when the connection to the plugin has opened or broken. */
  connection(isConnected: boolean): void {
    this.#isConnected = isConnected
    if (!isConnected || this.#isFollowing || this.#ending.signal.aborted) return
    // A report that cannot be handled ends the stream, which is opened again after a back-off.
    this.#options.spawn("health of devices", () => this.#follow(), this.#ending.signal)
  }

  stop(): void {
    this.#ending.abort()
  }

  async #follow(): Promise<void> {
    const { signal } = this.#ending
    if (this.#isFollowing) return
    this.#isFollowing = true
    try {
      while (this.#isConnected && !signal.aborted) {
        if (!(await this.#stream(signal))) return
        await sleep(this.#options.clock, RETRY_MS, signal).catch(() => undefined)
      }
    } finally {
      this.#isFollowing = false
    }
  }

  /** @returns whether the plugin has the service */
  async #stream(signal: AbortSignal): Promise<boolean> {
    const { channel, reported, lost } = this.#options
    try {
      for await (const { devices } of channel.stream(NodeWatchResources, {}, { signal })) {
        this.#hasReported = true
        reported(devices)
      }
    } catch (err) {
      if (!(err instanceof CriError)) throw err
      return err.code !== "Unimplemented"
    } finally {
      const had = this.#hasReported
      this.#hasReported = false
      if (had) lost()
    }
    return true
  }
}
