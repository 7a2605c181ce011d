import { join } from "node:path"
import type { KubeletContext } from "../context.ts"
import { tuningOf } from "../model/tuning.ts"
import type { PodWorkers } from "../pod/pod-workers.ts"
import type { Observations } from "../model/pressure.ts"
import { limitOf } from "../model/thresholds.ts"

/** The reserve is a hundredth of the disk, and no more than 64 MiB. */
const PART_OF_DISK = 0.01
const MOST_BYTES = 64 * 2 ** 20
/** It is given up in so many steps, so that something is left if another pod takes the first ones. */
const STEPS = 4
/**
 * How long the disk is full, since a pod began to end or since the last step, before a step is given up: longer than a
 * pod that ignores SIGTERM has to live (2 s), which would take that too.
 */
const STUCK_MS = 3000
/** A disk with less room is full. */
const FULL_BYTES = 256 * 1024

/**
 * Files that take room on the node's disk while there is enough, and give it up when an evicted pod cannot end for want
 * of room: containerd writes a file when a container has ended, and while it cannot, the pod's volumes stay, so that a
 * disk that a pod has filled would stay full for ever. Upstream has nothing like it.
 */
export class DiskReserve {
  readonly #context: KubeletContext
  readonly #workers: Pick<PodWorkers, "all">
  /** Since when the disk is full while a pod is ending, or the last step was given up, on the monotonic clock. */
  #stuckSince: number | undefined

  constructor(context: KubeletContext, workers: Pick<PodWorkers, "all">) {
    this.#context = context
    this.#workers = workers
  }

  /** Makes or gives up what is needed now. Called after each measurement of the node. */
  async keep(observations: Observations): Promise<void> {
    const { config, log } = this.#context
    const threshold = tuningOf(config).eviction.hard["nodefs.available"]
    const disk = observations["nodefs.available"]
    if (threshold === undefined || disk === undefined) return
    const total = Math.min(MOST_BYTES, disk.capacity * PART_OF_DISK)
    try {
      if (disk.available < FULL_BYTES) return await this.#giveUp()
      this.#stuckSince = undefined
      if (disk.available > limitOf(threshold, disk.capacity) + 2 * total) await this.#make(Math.floor(total / STEPS))
    } catch (err) {
      log.debug("Failed to keep a reserve on the disk", { err })
    }
  }

  get #folder(): string {
    return join(this.#context.config.root, "reserve")
  }

  async #make(bytes: number): Promise<void> {
    const { files } = this.#context.runtime
    const there = new Set(await files.list(this.#folder))
    for (let step = 0; step < STEPS; step++)
      if (!there.has(String(step))) await files.allocate(join(this.#folder, String(step)), bytes)
  }

  async #giveUp(): Promise<void> {
    const { clock, log, runtime } = this.#context
    if (!this.#workers.all().some(({ stage }) => stage === "terminating")) return
    const now = clock.monotonic()
    this.#stuckSince ??= now
    if (now - this.#stuckSince < STUCK_MS) return
    const [step] = await runtime.files.list(this.#folder)
    if (step === undefined) return
    this.#stuckSince = now
    log.warn("The disk is full: gave up a part of the reserve, so that a pod can end")
    await runtime.files.remove(join(this.#folder, step))
  }
}
