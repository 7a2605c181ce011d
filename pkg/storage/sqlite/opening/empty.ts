import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from "node:fs"
import { dirname } from "node:path"
import type { SqliteDatabase } from "../../../runtime/sqlite.ts"
import { SCHEMA } from "../format.ts"

export const PAGE_BYTES = 8192

/** How a new file is divided. It is fixed with the first page. */
export const DIVISION = `PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL;`

/**
 * Makes the file of an empty store where there is none. SQLite syncs a new file eleven times until it has tables, which
 * is a tenth of a server's first start. This one is written aside without a sync, synced as a whole, and then gets its
 * name: another process sees all of it or nothing. Where the file system has no links, nothing is done, and the store
 * is made in place.
 */
export function makeEmpty(file: string, openDatabase: (path: string) => SqliteDatabase): void {
  if (existsSync(file) || existsSync(`${file}-wal`)) return
  const aside = `${file}.new`
  const remove = () => [aside, `${aside}-wal`, `${aside}-journal`].forEach((path) => rmSync(path, { force: true }))
  remove() // what a killed process left
  try {
    const db = openDatabase(aside)
    try {
      db.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY")
      db.exec(DIVISION)
      db.exec(`BEGIN IMMEDIATE; ${SCHEMA} COMMIT`)
      db.exec("PRAGMA journal_mode = WAL")
    } finally {
      db.close()
    }
    syncPath(aside)
    if (isLinked(aside, file)) syncPath(dirname(file))
  } finally {
    remove()
  }
}

function isLinked(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch {
    return false
  }
}

/** Syncs a file, or the entries of a folder, to disk. */
export function syncPath(path: string): void {
  const fd = openSync(path, "r")
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
