import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs"
import { basename, dirname, extname, join } from "node:path"
import type { Clock } from "../clock/clock.ts"

/** When a log file is put aside, and how long such files are kept. */
export interface RotationLimits {
  /** A file that would become larger is put aside, and a new one is begun; 0 for any size. */
  readonly mostBytes: number
  /** How many files that were put aside are kept; 0 for any number. */
  readonly mostFiles: number
  /** How long they are kept, in milliseconds; 0 for ever. */
  readonly mostAgeMs: number
}

/** The time in the name of a file that was put aside: `k3ts-2026-01-01T00-00-00.000.log`. Source: lumberjack. */
const ASIDE = /^-(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3})$/

/**
 * A file to which text is appended, and which is put aside when it is large. Files that are too many or too old are
 * removed when one is put aside, and when the file is opened. Nobody but the owner can read them.
 */
export class RotatingFile {
  readonly #path: string
  readonly #limits: RotationLimits
  readonly #clock: Clock
  #fd: number | undefined
  #bytes = 0
  /** The time in the name of the last file that was put aside, in milliseconds since the epoch. */
  #lastAside = 0

  constructor(path: string, limits: RotationLimits, clock: Clock) {
    this.#path = path
    this.#limits = limits
    this.#clock = clock
  }

  /** Appends whole lines. @throws Error of the file system; the next call tries anew */
  append(text: string): void {
    const bytes = Buffer.from(text)
    const { mostBytes } = this.#limits
    if (this.#fd === undefined) this.#open()
    if (mostBytes > 0 && this.#bytes > 0 && this.#bytes + bytes.length > mostBytes) this.#putAside()
    try {
      for (let at = 0; at < bytes.length;) {
        const written = writeSync(this.#fd!, bytes, at)
        this.#bytes += written
        at += written
      }
    } catch (err) {
      this.close()
      throw err
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }

  #open(): void {
    mkdirSync(dirname(this.#path), { recursive: true })
    this.#fd = openSync(this.#path, "a", 0o600)
    this.#bytes = fstatSync(this.#fd).size
    this.#removeOld()
  }

  #putAside(): void {
    this.close()
    renameSync(this.#path, this.#nameAside())
    this.#open()
  }

  #nameAside(): string {
    for (let at = Math.max(this.#clock.now(), this.#lastAside + 1); ; at++) {
      this.#lastAside = at
      const time = new Date(at).toISOString().replaceAll(":", "-").slice(0, -1)
      const path = join(dirname(this.#path), `${this.#stem}-${time}${extname(this.#path)}`)
      if (!existsSync(path)) return path
    }
  }

  get #stem(): string {
    return basename(this.#path, extname(this.#path))
  }

  #removeOld(): void {
    const { mostFiles, mostAgeMs } = this.#limits
    const folder = dirname(this.#path)
    const newestFirst = readdirSync(folder)
      .map((name) => ({ name, time: this.#timeIn(name) }))
      .filter((file): file is { name: string; time: number } => file.time !== undefined)
      .toSorted((a, b) => b.time - a.time)
    const oldest = mostAgeMs === 0 ? -Infinity : this.#clock.now() - mostAgeMs
    for (const [index, { name, time }] of newestFirst.entries())
      if (time < oldest || (mostFiles > 0 && index >= mostFiles)) rmSync(join(folder, name), { force: true })
  }

  /** Returns when a file of this name was put aside; undefined for other files. */
  #timeIn(name: string): number | undefined {
    const extension = extname(this.#path)
    if (!name.startsWith(this.#stem) || !name.endsWith(extension)) return undefined
    const middle = name.slice(this.#stem.length, name.length - extension.length)
    const [, hours, minutes, seconds] = ASIDE.exec(middle) ?? []
    const time = Date.parse(`${hours}:${minutes}:${seconds}Z`)
    return Number.isNaN(time) ? undefined : time
  }
}
