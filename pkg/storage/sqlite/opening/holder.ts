/**
 * Finds out which process has a database open. SQLite's own lock decides; the pid file beside the database only tells
 * people who holds it.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import process from "node:process"
import { StorageError } from "../../storage.ts"

const pidFile = (file: string): string => `${file}.pid`

/** @throws StorageError readonly */
export function noteHolder(file: string): void {
  try {
    writeFileSync(pidFile(file), `${process.pid}\n`)
  } catch (cause) {
    const { message } = cause as Error
    throw new StorageError("readonly", `Cannot write ${pidFile(file)}: ${message}`, undefined, { cause })
  }
}

export const forgetHolder = (file: string): void => rmSync(pidFile(file), { force: true })

/** Undefined until the process that holds the database, if any, has written the file. */
function holderOf(file: string): number | undefined {
  try {
    return Number(readFileSync(pidFile(file), "utf8"))
  } catch {
    return undefined
  }
}

/** Returns whether another process has the database open, by its pid file. */
export function isHeld(file: string): boolean {
  const pid = holderOf(file)
  try {
    return pid !== undefined && pid !== process.pid && process.kill(pid, 0)
  } catch {
    return false
  }
}

export function lockedBy(file: string, cause: unknown): StorageError {
  const pid = holderOf(file)
  const holder = pid === undefined ? "another process" : `process ${pid}`
  const mend = "stop that server first, or give this one another data directory"
  return new StorageError("locked", `Cannot open ${file}: ${holder} uses it; ${mend}`, undefined, { cause })
}
