/**
 * The newest acknowledged revision, in a small file beside the database. SQLite takes a log of changes that ends early
 * for one that was written no further, and a missing file for a new one; so only something outside of the database can
 * say that acknowledged writes are gone.
 *
 * Why the number is sound, that is, never beyond what the disk has of the database:
 *  - It is written after the commit is on the disk, and before the writes of the commit are acknowledged. So the
 *    database is at this revision or a later one.
 *  - After kill -9 the file has the last number that was written, as the kernel keeps what a process has written. So
 *    every acknowledged revision is covered.
 *  - It is written in place without waiting for the disk: that costs a microsecond a commit. After a power cut it may
 *    be some seconds old, and then it
 *    promises less. As the commit was on the disk before it, it never promises more. It lies within one sector, which
 *    disks write whole.
 *  - A file that cannot be read, as one that was made just before a power cut, promises nothing.
 * A disk that loses what it has confirmed as written is found out by it, too: the database is then older than the
 * number.
 */
import { closeSync, constants, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs"
import { crc32 } from "node:zlib"

export const acknowledgedPath = (database: string): string => `${database}.acknowledged`

/** Text, so that people can read it, and of fixed length, so that writing it needs no space on a full disk. */
function textOf(revision: number): string {
  const text = `revision ${String(revision).padStart(16, "0")}`
  return `${text} ${crc32(text).toString(16).padStart(8, "0")}\n`
}

/** Returns the revision in the file beside a database; undefined when there is no readable file. */
export function acknowledgedRevision(database: string): number | undefined {
  let text: string
  try {
    text = readFileSync(acknowledgedPath(database), "utf8")
  } catch {
    return undefined
  }
  const revision = Number(/^revision (\d{16}) /.exec(text)?.[1])
  return Number.isSafeInteger(revision) && textOf(revision) === text ? revision : undefined
}

/** Records the acknowledged revisions of the process that has the database open. */
export class AcknowledgedFile {
  readonly #fd: number

  /** @throws Error with a syscall, when the file cannot be written */
  constructor(database: string, revision: number) {
    this.#fd = openSync(acknowledgedPath(database), constants.O_RDWR | constants.O_CREAT, 0o600)
    writeSync(this.#fd, textOf(revision), 0)
    ftruncateSync(this.#fd, textOf(revision).length)
  }

  note(revision: number): void {
    try {
      writeSync(this.#fd, textOf(revision), 0)
    } catch {
      // The file keeps the earlier revision, which is still right.
    }
  }

  close(): void {
    try {
      fsyncSync(this.#fd)
    } catch {
      // After a power cut the file may be behind; see above.
    }
    closeSync(this.#fd)
  }
}
