import { sleep, type Clock } from "../../../pkg/clock/clock.ts"
import type { ImageService } from "../../../pkg/cri/service.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { archivesToImport, importImages } from "./images.ts"
import { Imported } from "./imported.ts"
import type { ContainerdPaths } from "../paths.ts"

/** How long to wait until the CRI shows an imported image. */
const SHOWN_WITHIN_MS = 30_000

export interface ArchivesParts {
  readonly paths: ContainerdPaths
  readonly images: ImageService
  readonly clock: Clock
  readonly log: Logger
  /** What is imported before the archives. */
  readonly first?: () => Promise<void>
}

/**
 * Imports the archives in the images folder one after the other while the node starts: unpacking takes seconds, and
 * only pods with these images have to wait. An archive that was imported and has not changed since is skipped.
 */
export class Archives {
  readonly #parts: ArchivesParts
  #runs: Promise<void> = Promise.resolve()
  /** Exists while an import is in progress; resolves when the next archive is imported or skipped. */
  #arrival: PromiseWithResolvers<void> | undefined

  constructor(parts: ArchivesParts) {
    this.#parts = parts
  }

  /**
   * Begins at once, or when an earlier run has ended. Never throws: a bad archive is logged, and must not prevent the
   * node from starting.
   */
  start(signal: AbortSignal): void {
    this.#arrival ??= Promise.withResolvers()
    this.#runs = this.#runs.then(() => this.#run(signal))
  }

  /** Returns a promise that resolves when there may be more images; undefined when no import is in progress. */
  more(): Promise<void> | undefined {
    return this.#arrival?.promise
  }

  /** Resolves when no import is in progress, which is soon after the signal given to `start` aborts. */
  ended(): Promise<void> {
    return this.#runs
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { log, paths } = this.#parts
    this.#arrival ??= Promise.withResolvers()
    await this.#parts.first?.().catch((err: unknown) => {
      if (!signal.aborted) log.error("Failed to import an image of k3ts", { err })
    })
    try {
      const imported = new Imported(paths)
      const archives = archivesToImport(paths)
      for (const archive of archives) {
        if (signal.aborted) break
        await this.#import(archive, archives, imported, signal)
        const arrived = this.#arrival
        this.#arrival = Promise.withResolvers()
        arrived?.resolve()
      }
    } catch (err) {
      log.error("Failed to list the archives of images", { path: paths.images, err })
    } finally {
      this.#arrival?.resolve()
      this.#arrival = undefined
    }
  }

  async #import(archive: string, archives: readonly string[], imported: Imported, signal: AbortSignal): Promise<void> {
    const { paths, log, clock, images } = this.#parts
    try {
      if (await this.#has(imported.images(archive))) return
      const names = await importImages([archive], paths, signal)
      await shown(images, clock, names, signal)
      log.info("Imported images", { path: archive, images: names })
      imported.note(archive, names, archives)
    } catch (err) {
      if (!signal.aborted) log.error("Failed to import an archive of images; skipping it", { path: archive, err })
    }
  }

  /** Whether the store still has all of the images. */
  async #has(names: readonly string[] | undefined): Promise<boolean> {
    if (names === undefined) return false
    for (const name of names) if ((await this.#parts.images.imageStatus(name)) === undefined) return false
    return true
  }
}

/**
 * Resolves when the CRI shows the images. The CRI learns of images by containerd's events, and would try to pull a
 * pause image that it does not know yet.
 */
export async function shown(
  images: ImageService,
  clock: Clock,
  names: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const deadline = clock.monotonic() + SHOWN_WITHIN_MS
  for (const name of names) {
    while ((await images.imageStatus(name, signal && { signal })) === undefined) {
      if (clock.monotonic() > deadline)
        throw new Error(
          `containerd has imported ${name}, but its CRI does not show it after ${SHOWN_WITHIN_MS / 1000} s`,
        )
      await sleep(clock, 5, signal)
    }
  }
}
