import type { Timer } from "../../../pkg/clock/clock.ts"
import type { KubeletContext } from "../context.ts"
import type { MountedVolume } from "../model/mounted-volume.ts"

/**
 * The largest random addition to the synchronization period, as a part of it. Source: workerResyncIntervalJitterFactor.
 */
export const JITTER = 0.5

/**
 * Checks from time to time whether the claims of a pod's volumes have grown, since a kubelet may read claims but not
 * watch them. It runs only while the pod has a volume that can grow, with the period of pod synchronization. Source:
 * pkg/kubelet/volumemanager/populator checkVolumeFSResize.
 */
export class VolumeExpansionCheck {
  readonly #context: KubeletContext
  readonly #volumes: () => readonly MountedVolume[]
  #timer: Timer | undefined
  #stopped = false

  constructor(context: KubeletContext, volumes: () => readonly MountedVolume[]) {
    this.#context = context
    this.#volumes = volumes
  }

  /** Starts the checks if a volume can grow. Must be called after volumes have been mounted. */
  start(): void {
    const { clock, config, random, spawn } = this.#context
    const hasAny = this.#volumes().some(({ grow }) => grow !== undefined)
    if (this.#timer !== undefined || this.#stopped || !hasAny || config.syncFrequencyMs === 0) return
    const wait = config.syncFrequencyMs * (1 + JITTER * random.next())
    this.#timer = clock.setTimeout(() => spawn("check of the size of volumes", () => this.#check()), wait, "upkeep")
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  async #check(): Promise<void> {
    try {
      for (const { name, grow } of this.#volumes())
        if (!this.#stopped)
          await grow?.().catch((err: unknown) =>
            this.#context.log.warn("Failed to expand a volume", { volume: name, err }),
          )
    } finally {
      this.#timer = undefined
      this.start()
    }
  }
}
