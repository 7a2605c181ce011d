import { mkdirSync, readdirSync, readFileSync, watch } from "node:fs"
import { join } from "node:path"

/** Where manifests come from. */
export interface ManifestFolder {
  /** Names of all files. */
  names(): readonly string[]
  /** Undefined when it is not there. */
  read(name: string): string | undefined
  /** Calls with the name of a file that may have changed, or with nothing when any may. Returns what ends that. */
  watch(changed: (name: string | undefined) => void): () => void
}

/** A folder of the disk, made when it is missing. The kernel tells of changes. */
export function manifestFolder(path: string): ManifestFolder {
  mkdirSync(path, { recursive: true, mode: 0o700 })
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
    watch(changed) {
      const watcher = watch(path, (_event, name) => changed(name ?? undefined))
      watcher.on("error", () => changed(undefined))
      return () => watcher.close()
    },
  }
}
