import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import type { Timer } from "../../../pkg/clock/clock.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"

/**
 * Milliseconds without a connected plugin after which the ResourceSlices of a driver are removed. Source:
 * pkg/kubelet/cm/dra/manager.go defaultWipingDelay.
 */
export const WIPING_DELAY_MS = 30_000
/**
 * The first and the longest delay between attempts, in milliseconds. Source:
 * pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go wipeResourceSlices.
 */
const FIRST_RETRY_MS = 1000
const LAST_RETRY_MS = 300_000

/** The key for the removal of the slices of all drivers; no driver has an empty name. */
const ALL = ""

/**
 * Removes the ResourceSlices of drivers that cannot prepare devices on this node, so that the scheduler places no pod
 * here for these devices. A driver that comes back creates its slices again.
 */
export class SliceWiper {
  readonly #context: Pick<ComponentContext, "client" | "clock" | "log" | "spawn">
  readonly #nodeName: string
  /** By driver, the timer of the removal or of the next attempt. */
  readonly #pending = new Map<string, Timer>()
  #stopped = false

  constructor(context: Pick<ComponentContext, "client" | "clock" | "log" | "spawn">, nodeName: string) {
    this.#context = context
    this.#nodeName = nodeName
  }

  /** Removes the slices of all drivers at once: after the start of a kubelet no driver is registered. */
  start(): void {
    this.#later(ALL, 0, FIRST_RETRY_MS)
  }

  /** Cancels the removal for a driver with a connected plugin, and schedules it for one without. */
  note(driver: string, usable: boolean): void {
    const pending = this.#pending.get(driver)
    if (usable) {
      pending?.cancel()
      this.#pending.delete(driver)
    } else if (pending === undefined) this.#later(driver, WIPING_DELAY_MS, FIRST_RETRY_MS)
  }

  stop(): void {
    this.#stopped = true
    for (const timer of this.#pending.values()) timer.cancel()
  }

  #later(driver: string, ms: number, retryMs: number): void {
    const { clock, spawn } = this.#context
    const timer = clock.setTimeout(
      () => spawn("removal of ResourceSlices", () => this.#wipe(driver, timer, retryMs)),
      ms,
    )
    this.#pending.set(driver, timer)
  }

  async #wipe(driver: string, timer: Timer, retryMs: number): Promise<void> {
    const { client, log } = this.#context
    const fieldSelector = [
      `spec.nodeName=${this.#nodeName}`,
      ...(driver === ALL ? [] : [`spec.driver=${driver}`]),
    ].join()
    const isCurrent = () => !this.#stopped && this.#pending.get(driver) === timer
    try {
      await client.deleteCollection(ResourceSlice, { fieldSelector })
      if (isCurrent()) this.#pending.delete(driver)
    } catch (err) {
      if (!isCurrent()) return
      if (isNotFound(err)) return void this.#pending.delete(driver)
      log.warn("Failed to remove the ResourceSlices of a driver that is gone; will retry", { driver, err })
      this.#later(driver, retryMs, Math.min(retryMs * 2, LAST_RETRY_MS))
    }
  }
}
