import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import type { Timer } from "../../../pkg/clock/clock.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"

/**
 * A driver that is away for this long has its ResourceSlices removed. Source: pkg/kubelet/cm/dra/manager.go
 * defaultWipingDelay.
 */
export const WIPING_DELAY_MS = 30_000
/** Pauses between attempts. Source: pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go wipeResourceSlices. */
const FIRST_RETRY_MS = 1000
const LAST_RETRY_MS = 300_000

/** Stands for all drivers; it is no name of a driver. */
const ALL = ""

/**
 * Removes the ResourceSlices of drivers that cannot prepare devices on this node, so that no pod is placed here for
 * these devices. A driver that comes back writes them anew.
 */
export class SliceWiper {
  readonly #context: Pick<ComponentContext, "client" | "clock" | "log" | "spawn">
  readonly #nodeName: string
  /** By driver: the timer of its removal, or of the next attempt. */
  readonly #pending = new Map<string, Timer>()
  #stopped = false

  constructor(context: Pick<ComponentContext, "client" | "clock" | "log" | "spawn">, nodeName: string) {
    this.#context = context
    this.#nodeName = nodeName
  }

  /** Removes the slices of all drivers now: none is registered with a kubelet that starts. */
  start(): void {
    this.#later(ALL, 0, FIRST_RETRY_MS)
  }

  /** Takes note of whether a plugin of the driver is connected. */
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
