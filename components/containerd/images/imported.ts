import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { ContainerdPaths } from "../paths.ts"

interface Entry {
  readonly size: number
  readonly modified: number
  readonly images: readonly string[]
}

/**
 * Which archives are in the store already, so that a restart does not unpack gigabytes again. Kept beside the store:
 * who removes that removes the notes too. An archive counts as the same while its size and its time of change are.
 */
export class Imported {
  readonly #file: string
  #entries: Record<string, Entry>

  constructor(paths: ContainerdPaths) {
    this.#file = join(paths.root, "imported.json")
    this.#entries = read(this.#file)
  }

  /** The images of an archive that was imported as it is now; undefined when it was not. */
  images(archive: string): readonly string[] | undefined {
    const entry = this.#entries[archive]
    const { size, mtimeMs } = statSync(archive)
    return entry !== undefined && entry.size === size && entry.modified === mtimeMs ? entry.images : undefined
  }

  /** Notes an import; archives that are not in the folder any more are forgotten. */
  note(archive: string, images: readonly string[], there: readonly string[]): void {
    const { size, mtimeMs } = statSync(archive)
    const kept = Object.entries(this.#entries).filter(([path]) => there.includes(path))
    this.#entries = { ...Object.fromEntries(kept), [archive]: { size, modified: mtimeMs, images } }
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#entries))
    renameSync(`${this.#file}.new`, this.#file)
  }
}

/** What cannot be read counts as nothing: the archives are then imported again. */
function read(file: string): Record<string, Entry> {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Record<string, Entry>
  } catch {
    return {}
  }
}
