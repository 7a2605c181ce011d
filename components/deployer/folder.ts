import { mkdirSync, readdirSync, realpathSync, statSync, watch } from "node:fs"
import { basename, dirname, join } from "node:path"
import type { Clock } from "../../pkg/clock/clock.ts"
import { fileError } from "../../pkg/files/files.ts"
import { readRegularFile } from "../../pkg/files/regular-file.ts"
import { watchFolder } from "../../pkg/process/watch-folder.ts"

/** Where manifests come from. A file's name is its path below the folder, as `addons/dns.yaml`. */
export interface ManifestFolder {
  /** Walks the folder. `watch` then also hears of changes where the links lead that were found. */
  list(): Listing
  /** Undefined when it is not there. @throws NoRegularFile; Error that names the mend */
  read(name: string): string | undefined
  /** Calls with the name of a file that may have changed, or with nothing when any may. Returns what ends that. */
  watch(changed: (name: string | undefined) => void): () => void
}

export interface Listing {
  readonly files: readonly string[]
  /** Folders that could not be listed, and why: their files may be there or not. */
  readonly faults: ReadonlyMap<string, string>
}

const MODE = 0o700
/** Manifests are megabytes at most. A larger file would keep everything else waiting while it is read. */
const MOST_BYTES = 16 * 2 ** 20
/** A link to a large folder, such as the root of the file system, is not walked to its end. */
const MOST_ENTRIES = 10_000

/**
 * A folder of the disk, made when it is missing, with the folders below it. A link to a folder is followed, but none
 * within that. The kernel tells of changes, also where links lead. Source of what is followed: k3s
 * pkg/deploy/controller.go listFilesIn.
 */
export function manifestFolder(path: string, clock: Clock): ManifestFolder {
  let links: LinkWatches | undefined
  const list = (): Listing => {
    const { listing, targets } = walk(path)
    links?.set(targets)
    return listing
  }
  return {
    list,
    read: (name) =>
      isBelow(name) && !isFolder(join(path, name)) ? readRegularFile(join(path, name), MOST_BYTES) : undefined,
    watch(changed) {
      mkdirSync(path, { recursive: true, mode: MODE })
      links = new LinkWatches(() => changed(undefined))
      list()
      const end = watchFolder(path, changed, { clock, mode: MODE, recursive: true })
      return () => {
        end()
        links?.set(new Map())
        links = undefined
      }
    },
  }
}

/** Names of files that are gone come from objects of the cluster. */
const isBelow = (name: string): boolean => !name.startsWith("/") && !name.split("/").includes("..")

/** Whether a folder has a name like a manifest's. */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false // reading it says what is wrong
  }
}

interface Walked {
  readonly listing: Listing
  /** Folders where links lead: all in them counts, or only the files that are named. */
  readonly targets: ReadonlyMap<string, ReadonlySet<string> | "all">
}

function walk(root: string): Walked {
  const files: string[] = []
  const faults = new Map<string, string>()
  const targets = new Map<string, Set<string> | "all">()
  const walked = new Set<string>()
  let left = MOST_ENTRIES

  const visit = (below: string, real: string, isLinked: boolean): void => {
    if (walked.has(real)) return // a link to a folder that is there by its own name
    walked.add(real)
    if (isLinked) targets.set(real, "all")
    const entries = readdirSync(real, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))
    const links: string[] = []
    for (const entry of entries) {
      if (left-- <= 0) throw new Error(`Cannot read ${root}: it has more than ${MOST_ENTRIES} entries; remove some`)
      const name = join(below, entry.name)
      if (entry.isDirectory()) into(name, join(real, entry.name), isLinked)
      else if (entry.isSymbolicLink()) links.push(name)
      else files.push(name)
    }
    for (const name of links) follow(name, join(real, basename(name)), isLinked)
  }
  const follow = (name: string, path: string, isLinked: boolean): void => {
    try {
      const isFolder = statSync(path).isDirectory()
      const real = realpathSync(path)
      if (!isFolder) {
        files.push(name)
        const known = targets.get(dirname(real)) ?? new Set()
        if (known !== "all") targets.set(dirname(real), known.add(basename(real)))
      } else if (!isLinked) into(name, real, true)
    } catch (err) {
      if (!isGone(err)) faults.set(name, fileError("read", path, err).message)
    }
  }
  const into = (name: string, real: string, isLinked: boolean): void => {
    try {
      visit(name, real, isLinked)
    } catch (err) {
      if (!isGone(err)) faults.set(name, fileError("read", real, err).message)
    }
  }
  try {
    into("", realpathSync(root), false)
  } catch {
    // It is not there yet.
  }
  return { listing: { files, faults }, targets }
}

const isGone = (err: unknown): boolean => (err as NodeJS.ErrnoException).code === "ENOENT"

/** Watches of folders elsewhere, where links lead. They are never made: whoever made the link has them. */
class LinkWatches {
  readonly #changed: () => void
  #wanted: Walked["targets"] = new Map()
  readonly #watches = new Map<string, { close(): void }>()

  constructor(changed: () => void) {
    this.#changed = changed
  }

  set(wanted: Walked["targets"]): void {
    this.#wanted = wanted
    for (const [path, one] of this.#watches)
      if (!wanted.has(path)) {
        one.close()
        this.#watches.delete(path)
      }
    for (const path of wanted.keys()) if (!this.#watches.has(path)) this.#open(path)
  }

  #open(path: string): void {
    try {
      const opened = watch(path)
      this.#watches.set(path, opened)
      opened.on("error", () => this.#watches.delete(path))
      opened.on("change", (_event, name) => {
        const wanted = this.#wanted.get(path)
        if (wanted === "all" || (typeof name === "string" && wanted?.has(name) === true)) this.#changed()
      })
    } catch {
      // The next change of the folder opens it again.
    }
  }
}
