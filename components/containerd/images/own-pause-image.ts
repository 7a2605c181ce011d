import type { Clock } from "../../../pkg/clock/clock.ts"
import type { ImageService, RuntimeService } from "../../../pkg/cri/service.ts"
import { machineArchitecture } from "../elf.ts"
import type { ContainerdPaths } from "../paths.ts"
import { shown } from "./archives.ts"
import { importImages } from "./images.ts"
import { PAUSE_IMAGE, pauseImageArchive } from "./pause-image.ts"

export interface OwnPauseImageParts {
  readonly paths: ContainerdPaths
  readonly images: ImageService
  readonly clock: Clock
  /** Returns what aborts when containerd is stopped. */
  readonly signal: () => AbortSignal
}

/**
 * Imports our pause image. A node is ready without it, and the import takes a quarter of the node's start, so only
 * sandboxes wait for it.
 */
export class OwnPauseImage {
  readonly #parts: OwnPauseImageParts
  #there: Promise<void> | undefined

  constructor(parts: OwnPauseImageParts) {
    this.#parts = parts
  }

  /** @throws Error where k3ts has no program for this processor */
  checkProcessor(): void {
    if (machineArchitecture() === undefined)
      throw new Error(`Cannot make a pause image for the processor ${process.arch}: name one with --pause-image`)
  }

  /** Resolves when containerd has the image. After a failure the next call tries again. @throws Error */
  there(): Promise<void> {
    this.#there ??= this.#bring().catch((err: unknown) => {
      this.#there = undefined
      throw err
    })
    return this.#there
  }

  /** Returns a runtime whose sandboxes wait for the image. */
  before(runtime: RuntimeService): RuntimeService {
    return {
      ...runtime,
      runPodSandbox: async (...call) => {
        await this.there()
        try {
          return await runtime.runPodSandbox(...call)
        } catch (err) {
          // Somebody may have removed the image: the next call looks for it.
          this.#there = undefined
          throw err
        }
      },
    }
  }

  async #bring(): Promise<void> {
    const { images, paths, clock, signal } = this.#parts
    const stopping = signal()
    if ((await images.imageStatus(PAUSE_IMAGE)) !== undefined) return
    const names = await importImages([pauseImageArchive(machineArchitecture()!)], paths, stopping)
    await shown(images, clock, names, stopping)
  }
}
