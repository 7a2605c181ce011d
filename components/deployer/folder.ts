import { mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Clock } from "../../pkg/clock/clock.ts"
import { watchFolder } from "../../pkg/process/watch-folder.ts"

/** Where manifests come from. */
export interface ManifestFolder {
  /** Names of all files. */
  names(): readonly string[]
  /** Undefined when it is not there. */
  read(name: string): string | undefined
  /** Calls with the name of a file that may have changed, or with nothing when any may. Returns what ends that. */
  watch(changed: (name: string | undefined) => void): () => void
}

const MODE = 0o700

/** A folder of the disk, made when it is missing. The kernel tells of changes. */
export function manifestFolder(path: string, clock: Clock): ManifestFolder {
  mkdirSync(path, { recursive: true, mode: MODE })
  return {
    names: () => readdirSync(path),
    read(name) {
      try {
        return readFileSync(join(path, name), "utf8")
      } catch (err) {
        const { code } = err as NodeJS.ErrnoException
        if (code === "ENOENT" || code === "EISDIR") return undefined
        throw err
      }
    },
    watch: (changed) => watchFolder(path, changed, { clock, mode: MODE }),
  }
}
