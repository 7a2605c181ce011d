import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { ContainerdPaths } from "../paths.ts"

interface Entry {
  readonly size: number
  readonly modified: number
  readonly images: readonly string[]
}

/**
 * Records which archives were imported, so that a restart does not unpack gigabytes again. The file is beside the
 * store, and so is removed with it. An archive counts as unchanged while its size and modification time are the same.
 */
export class Imported {
  readonly #file: string
  #entries: Record<string, Entry>

  constructor(paths: ContainerdPaths) {
    this.#file = join(paths.root, "imported.json")
    this.#entries = read(this.#file)
  }

  /** Returns the images of an archive that was imported and has not changed; undefined otherwise. */
  images(archive: string): readonly string[] | undefined {
    const entry = this.#entries[archive]
    const { size, mtimeMs } = statSync(archive)
    return entry !== undefined && entry.size === size && entry.modified === mtimeMs ? entry.images : undefined
  }

  /** Records an import, and removes the records of archives that are no longer in the folder. */
  note(archive: string, images: readonly string[], there: readonly string[]): void {
    const { size, mtimeMs } = statSync(archive)
    const kept = Object.entries(this.#entries).filter(([path]) => there.includes(path))
    this.#entries = { ...Object.fromEntries(kept), [archive]: { size, modified: mtimeMs, images } }
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#entries))
    renameSync(`${this.#file}.new`, this.#file)
  }
}

/** A file that cannot be read counts as empty: the archives are imported again. */
function read(file: string): Record<string, Entry> {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Record<string, Entry>
  } catch {
    return {}
  }
}
