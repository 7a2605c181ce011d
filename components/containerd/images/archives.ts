import { sleep, type Clock } from "../../../pkg/clock/clock.ts"
import type { ImageService } from "../../../pkg/cri/service.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { archivesToImport, importImages } from "./images.ts"
import { Imported } from "./imported.ts"
import type { ContainerdPaths } from "../paths.ts"

/** Until the CRI must show what was imported. */
const SHOWN_WITHIN_MS = 30_000

export interface ArchivesParts {
  readonly paths: ContainerdPaths
  readonly images: ImageService
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Imports the archives that users have laid down, one after the other, while the node starts: unpacking takes seconds,
 * and only pods with these images have to wait. An archive that is in the store already, as it is now, is passed over.
 */
export class Archives {
  readonly #parts: ArchivesParts
  #runs: Promise<void> = Promise.resolve()
  /** Under way now; resolved when the next archive is in or was passed over. */
  #arrival: PromiseWithResolvers<void> | undefined

  constructor(parts: ArchivesParts) {
    this.#parts = parts
  }

  /**
   * Begins at once, or when an earlier run has ended. Never throws: a bad archive is told in the log, and must not keep
   * the node down.
   */
  start(signal: AbortSignal): void {
    this.#arrival ??= Promise.withResolvers()
    this.#runs = this.#runs.then(() => this.#run(signal))
  }

  /** Resolves when there may be more images than now; undefined when none are under way. */
  more(): Promise<void> | undefined {
    return this.#arrival?.promise
  }

  /** Resolves when nothing is being imported, which is soon after the signal given to `start` has aborted. */
  ended(): Promise<void> {
    return this.#runs
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { log, paths } = this.#parts
    this.#arrival ??= Promise.withResolvers()
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
      log.error("Cannot look for archives of images", { path: paths.images, err })
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
      if (!signal.aborted) log.error("Passed over an archive of images", { path: archive, err })
    }
  }

  /** Whether the store has all of the images, which were known to be in it once. */
  async #has(names: readonly string[] | undefined): Promise<boolean> {
    if (names === undefined) return false
    for (const name of names) if ((await this.#parts.images.imageStatus(name)) === undefined) return false
    return true
  }
}

/**
 * Resolves when the CRI shows the images. It follows containerd's events, and would try to pull a pause image it has
 * not heard of yet.
 */
export async function shown(
  images: ImageService,
  clock: Clock,
  names: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const deadline = clock.monotonic() + SHOWN_WITHIN_MS
  for (const name of names) {
    while ((await images.imageStatus(name, { signal })) === undefined) {
      if (clock.monotonic() > deadline)
        throw new Error(
          `containerd has imported ${name}, but its CRI does not show it after ${SHOWN_WITHIN_MS / 1000} s`,
        )
      await sleep(clock, 5, signal)
    }
  }
}
