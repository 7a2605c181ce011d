/** Reads a store that no server has open. Changes nothing. */
import { existsSync, rmSync, statSync } from "node:fs"
import { openSqlite, type SqliteDatabase } from "../../runtime/sqlite.ts"
import { acknowledgedPath, acknowledgedRevision } from "./opening/acknowledged.ts"
import type { KeptObject } from "./create.ts"
import { storageErrorFrom } from "./errors.ts"
import {
  checkRow,
  COLUMNS,
  damaged,
  DELETE,
  FORMAT,
  formatOf,
  SELDOM_READ,
  TRANSIENT,
  type Row,
  COLUMN,
  named,
} from "./format.ts"
import { loadState } from "./opening/load.ts"
import { StorageError } from "../storage.ts"
import { walDamage } from "./opening/wal-damage.ts"

/**
 * Returns the live objects in the order of their revisions.
 * @throws StorageError damaged, or lost when acknowledged writes are missing
 */
export function readStore(file: string): { readonly revision: number; readonly objects: readonly KeptObject[] } {
  return reading(file, (db) => {
    const { revision, rows } = loadState(db, file)
    const promised = acknowledgedRevision(file) ?? 0
    if (revision < promised)
      throw new StorageError(
        "lost",
        `Cannot read ${file}: it ends at revision ${revision}, but ${acknowledgedPath(file)} says that revision ` +
          `${promised} was acknowledged`,
      )
    return { revision, objects: rows.map(keptObject) }
  })
}

/** Returns one live object; undefined when there is none. Searches all rows. @throws StorageError damaged */
export function readObject(file: string, key: string): KeptObject | undefined {
  return reading(file, (db) => {
    const [row] = db.prepare<Row>(`SELECT ${COLUMNS} FROM log WHERE key = ? ORDER BY rev DESC LIMIT 1`).rows(key)
    return row === undefined || row[COLUMN.type] === DELETE ? undefined : keptObject(checkRow(row, file))
  })
}

function keptObject(row: Row): KeptObject {
  const { rev: revision, key, type, created, value, time } = named(row)
  return {
    key,
    revision,
    created,
    time,
    transient: (type & TRANSIENT) !== 0,
    seldomRead: (type & SELDOM_READ) !== 0,
    value,
  }
}

function reading<T>(file: string, use: (db: SqliteDatabase) => T): T {
  const wal = `${file}-wal`
  const hasWal = existsSync(wal) && statSync(wal).size > 0
  const damage = hasWal ? walDamage(wal) : undefined
  if (damage !== undefined) throw damaged(wal, damage)
  let db: SqliteDatabase | undefined
  try {
    db = openSqlite(file, hasWal ? "read" : "frozen")
    if (formatOf(db, file) !== FORMAT)
      throw new StorageError(
        "damaged",
        `Cannot read ${file}: it is empty, or of an earlier version of k3ts; start the server on it once`,
      )
    return use(db)
  } catch (err) {
    throw storageErrorFrom(err, "read", file)
  } finally {
    db?.close()
    if (hasWal) rmSync(`${file}-shm`, { force: true })
  }
}
