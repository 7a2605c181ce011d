import { basename, dirname, join } from "node:path"
import type { OpenFile } from "../runtime/open-file.ts"
import type { PodFiles } from "../runtime/runtime.ts"
import { rotatedNames } from "./rotate.ts"
import { tailOf } from "./tail.ts"

/**
 * The file at a path to which a runtime writes a log, and after each rotation its successor there. Nothing is open
 * after `close`, not even a file that was being opened then.
 */
export class RotatedFile {
  readonly #files: Pick<PodFiles, "open" | "list">
  readonly #path: string
  #file: OpenFile | undefined
  #offset = 0
  /** The successor of `#file`, which the runtime may not write to yet. */
  #next: OpenFile | undefined
  /** Whether the runtime writes to `#next`: nothing more comes in `#file`. */
  #isOver = false
  #isClosed = false

  constructor(files: Pick<PodFiles, "open" | "list">, path: string) {
    this.#files = files
    this.#path = path
  }

  /** Opens the file, if there is one, to read its last lines, or all: from the one before it if they begin there. */
  async open(lines?: number): Promise<void> {
    this.#file = await this.#opened(this.#path)
    if (this.#file === undefined) return
    const { offset, missing } = await tailOf(this.#file, lines)
    const before = missing > 0 ? await this.#openedBefore() : undefined
    if (before === undefined) this.#offset = offset
    else {
      ;[this.#file, this.#next] = [before, this.#file]
      this.#offset = (await tailOf(before, missing)).offset
    }
  }

  /** Reads the next bytes of the file; none at its end, or when there is none. */
  async read(length: number): Promise<Uint8Array> {
    const chunk = (await this.#file?.read(this.#offset, length)) ?? new Uint8Array(0)
    this.#offset += chunk.length
    return chunk
  }

  /**
   * Looks for another file, once nothing more was read. The runtime writes to the old one until it is told of the
   * rotation, so that is read once more after the new one was written to, or at once with `isLast`. Returns what may
   * be read now; undefined for nothing new.
   */
  async rotated(isLast: boolean): Promise<"old file" | "new file" | undefined> {
    if (this.#file === undefined) {
      this.#file = await this.#opened(this.#path)
      return this.#file === undefined ? undefined : "new file"
    }
    if (this.#isOver) {
      const [old, next] = [this.#file, this.#next]
      this.#file = next
      this.#next = undefined
      this.#offset = 0
      this.#isOver = false
      await old.close()
      return "new file"
    }
    if (this.#next === undefined) {
      if (await this.#file.isCurrent()) return undefined
      this.#next = await this.#opened(this.#path)
    }
    if (this.#next === undefined || (!isLast && (await this.#next.size()) === 0)) return undefined
    this.#isOver = true
    return "old file"
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const open = [this.#file, this.#next]
    this.#file = undefined
    this.#next = undefined
    for (const file of open) await file?.close()
  }

  /** Opens the file that was rotated last, unless that is compressed. */
  async #openedBefore(): Promise<OpenFile | undefined> {
    const name = rotatedNames(await this.#files.list(dirname(this.#path)), basename(this.#path)).at(-1)
    return name === undefined || name.endsWith(".gz") ? undefined : this.#opened(join(dirname(this.#path), name))
  }

  async #opened(path: string): Promise<OpenFile | undefined> {
    const file = await this.#files.open(path)
    if (!this.#isClosed) return file
    await file?.close()
    return undefined
  }
}
