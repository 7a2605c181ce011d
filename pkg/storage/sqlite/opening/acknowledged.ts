/**
 * The newest acknowledged revision, in a small file beside the database. SQLite takes the end of a truncated
 * write-ahead log for the end of the writes, and a missing file for a new database. So only a file outside of the
 * database can show that acknowledged writes are lost.
 *
 * Why the revision in the file is never newer than the database on the disk:
 *
 *  - It is written after the commit is on the disk, and before the writes of the commit are acknowledged. So the
 *    database is at this revision or a later one.
 *  - After kill -9 the file has the last revision that was written, because the kernel keeps the data that a process
 *    has written. So every acknowledged revision is covered.
 *  - It is written in place without waiting for the disk, which costs a microsecond for each commit. After a power cut
 *    it may be some seconds old, and then covers fewer writes. It is never too new, because the commit was on the disk
 *    before. It lies within one sector, which disks write whole.
 *  - A file that cannot be read, such as one that was made just before a power cut, is ignored.
 *
 * The file also reveals a disk that loses confirmed writes: the database is then older than the revision in the file.
 */
import { closeSync, constants, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs"
import { crc32 } from "node:zlib"

export const acknowledgedPath = (database: string): string => `${database}.acknowledged`

/** Text, so that people can read it, and of a fixed length, so that writing it needs no space on a full disk. */
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

  /** @throws Error with `syscall` set, when the file cannot be written */
  constructor(database: string, revision: number) {
    this.#fd = openSync(acknowledgedPath(database), constants.O_RDWR | constants.O_CREAT, 0o600)
    writeSync(this.#fd, textOf(revision), 0)
    ftruncateSync(this.#fd, textOf(revision).length)
  }

  note(revision: number): void {
    try {
      writeSync(this.#fd, textOf(revision), 0)
    } catch {
      // Ignored: the file keeps the earlier revision, which is still correct.
    }
  }

  close(): void {
    try {
      fsyncSync(this.#fd)
    } catch {
      // Ignored: after a power cut the file may be older, see above.
    }
    closeSync(this.#fd)
  }
}
