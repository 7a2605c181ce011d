import { join } from "node:path"
import type { Timer } from "../../../../pkg/clock/clock.ts"
import type { KubeletContext } from "../../context.ts"
import { podFolder } from "../../model/pod-paths.ts"
import type { VolumeManager } from "../../volumes/volume-manager.ts"
import { removePodCgroups } from "../resources/pod-cgroups.ts"

/** When it is tried again to remove what could not be removed, such as a volume whose server did not answer. */
const AGAIN_MS = 60_000

/**
 * Removes the remains of pods that were deleted while no kubelet ran: volumes, cgroups, logs and folders. Source:
 * kubelet_volumes.go cleanupOrphanedPodDirs, which upstream calls every two seconds.
 */
export class Orphans {
  readonly #context: KubeletContext
  readonly #volumes: VolumeManager
  /** Whether a pod is wanted, or a part of it runs. */
  readonly #isKnown: (uid: string) => boolean
  #running: Promise<void> | undefined
  /** Whether there is more to remove than the sweep that runs has seen. */
  #more = false
  #again: Timer | undefined
  #stopped = false

  constructor(context: KubeletContext, volumes: VolumeManager, isKnown: (uid: string) => boolean) {
    this.#context = context
    this.#volumes = volumes
    this.#isKnown = isKnown
  }

  /** Resolves when the remains that are there now were removed, or could not be. */
  sweep(): Promise<void> {
    this.#more = true
    this.#running ??= this.#sweepAll().finally(() => (this.#running = undefined))
    return this.#running
  }

  stop(): void {
    this.#stopped = true
    this.#again?.cancel()
  }

  async #sweepAll(): Promise<void> {
    let isClean = true
    while (this.#more && !this.#stopped) {
      this.#more = false
      isClean = await this.#removeAll()
    }
    if (isClean || this.#stopped) return
    const { clock, spawn } = this.#context
    this.#again?.cancel()
    this.#again = clock.setTimeout(() => spawn("remains of pods", () => this.sweep()), AGAIN_MS, "upkeep")
  }

  /** Returns whether nothing is left. */
  async #removeAll(): Promise<boolean> {
    const { runtime, config, log } = this.#context
    const { files } = runtime
    const found = await Promise.allSettled([this.#volumes.podsOnDisk(), files.list(join(config.root, "pods"))])
    const onDisk = new Set(found.flatMap((result) => (result.status === "fulfilled" ? result.value : [])))
    let isClean = true
    for (const uid of onDisk) {
      if (this.#isKnown(uid)) continue
      try {
        await this.#volumes.unmount({ uid, namespace: "", name: "" })
        await removePodCgroups(runtime, uid)
        for (const name of await files.list(config.podLogs))
          if (name.endsWith(`_${uid}`)) await files.remove(join(config.podLogs, name))
        await files.remove(podFolder(config, uid))
      } catch (err) {
        isClean = false
        log.warn("Failed to remove the volumes, cgroups or files of a pod that is gone", { uid, err })
      }
    }
    return isClean
  }
}
