import {
  closeSync,
  createReadStream,
  createWriteStream,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs"
import { pipeline } from "node:stream/promises"
import { createGzip } from "node:zlib"
import { basename, dirname, extname, join } from "node:path"
import type { Clock } from "../clock/clock.ts"

/** When a log file is rotated, and how long rotated files are kept. */
export interface RotationLimits {
  /**
   * A file that would become larger than this many bytes is rotated: it is renamed, and a new one is begun. 0: no
   * limit.
   */
  readonly mostBytes: number
  /** The number of rotated files that are kept; 0: no limit. */
  readonly mostFiles: number
  /** How long rotated files are kept, in milliseconds; 0: for ever. */
  readonly mostAgeMs: number
  /** Whether rotated files are compressed with gzip, and end in `.gz`. */
  readonly compress?: boolean
}

/** Matches the time in the name of a rotated file: `k3ts-2026-01-01T00-00-00.000.log`. Source: lumberjack. */
const ASIDE = /^-(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3})$/

/** The end of the names of compressed files. */
const GZIPPED = ".gz"

/**
 * A file to which text is appended, and which is rotated when it is large. Rotated files that are too many or too old
 * are removed at each rotation, and when the file is opened. Only the owner can read the files.
 */
export class RotatingFile {
  readonly #path: string
  readonly #limits: RotationLimits
  readonly #clock: Clock
  #fd: number | undefined
  #bytes = 0
  /** Names of rotated files that are being compressed. */
  readonly #compressing = new Set<string>()
  /** The time in the name of the newest rotated file, in milliseconds since the epoch. */
  #lastAside = 0

  constructor(path: string, limits: RotationLimits, clock: Clock) {
    this.#path = path
    this.#limits = limits
    this.#clock = clock
  }

  /** Appends whole lines. @throws Error of the file system; the next call tries again */
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
      else if (this.#limits.compress === true && !name.endsWith(GZIPPED)) this.#compress(join(folder, name))
  }

  /** Compresses a rotated file, beside other work. One that cannot be compressed stays as it is until it is removed. */
  #compress(path: string): void {
    if (this.#compressing.has(path)) return
    this.#compressing.add(path)
    const part = `${path}${GZIPPED}.part`
    pipeline(createReadStream(path), createGzip(), createWriteStream(part, { mode: 0o600 }))
      .then(() => {
        renameSync(part, path + GZIPPED)
        rmSync(path, { force: true })
      })
      .catch(() => rmSync(part, { force: true }))
      .finally(() => this.#compressing.delete(path))
  }

  /** Returns when the file of this name was rotated; undefined for other files. */
  #timeIn(name: string): number | undefined {
    const extension = extname(this.#path)
    const plain = name.endsWith(GZIPPED) ? name.slice(0, -GZIPPED.length) : name
    if (!plain.startsWith(this.#stem) || !plain.endsWith(extension)) return undefined
    const middle = plain.slice(this.#stem.length, plain.length - extension.length)
    const [, hours, minutes, seconds] = ASIDE.exec(middle) ?? []
    const time = Date.parse(`${hours}:${minutes}:${seconds}Z`)
    return Number.isNaN(time) ? undefined : time
  }
}
