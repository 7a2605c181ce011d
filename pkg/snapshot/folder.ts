import { constants, readdirSync, rmSync, statfsSync, type Stats } from "node:fs"
import { lstat, mkdir, readdir, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import process from "node:process"
import { pathToFileURL } from "node:url"
import { fileError, removeIfPossible } from "../files/files.ts"
import { withOpenFile } from "../files/owned-file.ts"
import { verifySnapshot } from "./unpack.ts"
import { SnapshotError, type SnapshotSource } from "./format.ts"
import { isSnapshotName, timeInName } from "./names.ts"
import { withFile } from "./sources.ts"
import type { ListedSnapshot, SnapshotStore } from "./store.ts"
import { largest } from "../lists/extremes.ts"

/** The name of a file that is being written: `.<name>.<pid>.part`. */
const PART = /^\..*\.(\d+)\.part$/
/**
 * How many bytes a snapshot leaves free on the disk, which mostly holds the cluster's database too: this many, or on a
 * small disk this share of it.
 */
const LEFT_FREE = 128 * 2 ** 20
const LEFT_FREE_PART = 0.05
/** The free space is checked again after this many bytes. */
const LOOK_AGAIN = 64 * 2 ** 20

/** A folder of snapshots, which only its owner may read: a snapshot contains all keys and Secrets of the cluster. */
export class SnapshotFolder implements SnapshotStore {
  readonly #path: string
  /** Names of the files that this process is writing. */
  readonly #writing = new Set<string>()

  constructor(path: string) {
    this.#path = path
  }

  /**
   * Writes a snapshot into a temporary file, reads it again and then renames it, so that a name never refers to a part
   * of a snapshot. A failure leaves nothing behind. The temporary file of a killed process is removed by the next save.
   * @throws Error that names the file
   */
  async save(name: string, parts: AsyncIterable<Uint8Array>): Promise<ListedSnapshot> {
    const target = this.pathOf(name)
    const part = `.${name}.${process.pid}.part`
    const aside = join(this.#path, part)
    this.#writing.add(part)
    try {
      await mkdir(this.#path, { recursive: true, mode: 0o700 })
      this.#removeAbandoned()
      if ((await statIfExists(target)) !== undefined)
        throw new SnapshotError(`it exists already; delete it, or choose another name`)
      await this.#write(aside, parts)
      const content = await withFile(aside, verifySnapshot)
      const { size } = await lstat(aside)
      await rename(aside, target)
      await syncFolder(this.#path)
      return { name, location: pathToFileURL(target).href, size, content }
    } catch (err) {
      removeIfPossible(aside)
      throw fileError("save", target, err)
    } finally {
      this.#writing.delete(part)
    }
  }

  /** Lists the regular files with valid names of snapshots, and reads each to check it. */
  async list(): Promise<readonly ListedSnapshot[]> {
    const found: { readonly listed: ListedSnapshot; readonly time: number }[] = []
    for (const entry of await this.#entries()) {
      if (!entry.isFile() || !isSnapshotName(entry.name)) continue
      const path = join(this.#path, entry.name)
      const stat = await statIfExists(path)
      if (stat === undefined) continue // deleted since the folder was read
      const { size, mtimeMs } = stat
      const content = await this.open(entry.name, verifySnapshot).catch((err: unknown) =>
        err instanceof Error ? err : new Error(String(err)),
      )
      const listed = { name: entry.name, location: pathToFileURL(path).href, size, content }
      found.push({ listed, time: content instanceof Error ? mtimeMs : content.time })
    }
    return found.sort((a, b) => a.time - b.time).map(({ listed }) => listed)
  }

  /**
   * Returns the newest time in the names of snapshots with this base and node, in seconds; undefined when there is
   * none.
   */
  async newestOf(base: string, node: string): Promise<number | undefined> {
    const times = (await this.#entries()).flatMap(({ name }) => timeInName(name, base, node) ?? [])
    return times.length === 0 ? undefined : largest(times)
  }

  async delete(name: string): Promise<boolean> {
    const path = this.pathOf(name)
    if ((await statIfExists(path)) === undefined) return false
    await rm(path)
    return true
  }

  /** Reads a snapshot. @throws Error when there is none of this name */
  open<T>(name: string, use: (source: SnapshotSource) => Promise<T>): Promise<T> {
    return withFile(this.pathOf(name), use, { noLinks: true })
  }

  /** @throws SnapshotError for a name that could refer to a file outside of the folder */
  pathOf(name: string): string {
    if (isSnapshotName(name)) return join(this.#path, name)
    throw new SnapshotError(
      `Cannot use the snapshot name ${JSON.stringify(name)}: it must be letters, digits, ".", "_" and "-"`,
    )
  }

  async #write(aside: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
    await withOpenFile([aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600], async (file) => {
      let unchecked = LOOK_AGAIN
      for await (const part of parts) {
        unchecked += part.length
        if (unchecked >= LOOK_AGAIN) {
          this.#refuseFullDisk()
          unchecked = 0
        }
        await file.append(part)
      }
      await file.sync()
    })
  }

  #refuseFullDisk(): void {
    const { blocks, bavail, bsize } = statfsSync(this.#path)
    const left = Math.min(LEFT_FREE, blocks * bsize * LEFT_FREE_PART)
    if (bavail * bsize < left)
      throw new SnapshotError(
        `the disk has ${Math.floor((bavail * bsize) / 2 ** 20)} MiB free, of which a snapshot must leave ` +
          `${Math.ceil(left / 2 ** 20)} MiB to others; make room, or choose another --snapshot-dir`,
      )
  }

  async #entries() {
    try {
      return await readdir(this.#path, { withFileTypes: true })
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code === "ENOENT") return []
      throw fileError("read", this.#path, err)
    }
  }

  #removeAbandoned(): void {
    for (const name of readdirSync(this.#path)) {
      const pid = Number(PART.exec(name)?.[1])
      // In a container each server has the pid of the one before it.
      const isAbandoned = pid === process.pid ? !this.#writing.has(name) : pid > 0 && !isAlive(pid)
      if (isAbandoned) rmSync(join(this.#path, name), { force: true })
    }
  }
}

async function statIfExists(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw err
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === "EPERM"
  }
}

const syncFolder = (path: string): Promise<void> => withOpenFile([path], (folder) => folder.sync())
