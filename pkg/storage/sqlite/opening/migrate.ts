/**
 * Migrates a store from format 1, which had no list of the live rows, so that a start read all history. The live
 * objects are copied with their revisions; the history is not, so clients that would continue from it list again, as
 * after a compaction.
 */
import { crc32 } from "node:zlib"
import type { SqliteDatabase } from "../../../runtime/sqlite.ts"
import { FreshRows } from "../fresh.ts"
import { damaged } from "../format.ts"

type OldRow = readonly [
  rev: number,
  key: string,
  type: number,
  created: number,
  prev: number,
  value: Uint8Array,
  time: number,
  author: string,
  sum: number,
]

/** @throws StorageError damaged */
export function copyOfFormat1(old: SqliteDatabase, made: SqliteDatabase, file: string): void {
  const numberOf = (sql: string) => old.prepare<readonly [number | null]>(sql).rows()[0]?.[0] ?? 0
  const revision = Math.max(
    numberOf("SELECT max(rev) FROM log"),
    numberOf("SELECT value FROM meta WHERE name = 'compacted'"),
  )
  const rows = new FreshRows(made)
  made.exec("BEGIN IMMEDIATE")
  for (const rev of liveRevisions(old)) {
    const [row] = old
      .prepare<OldRow>("SELECT rev, key, type, created, prev, value, time, author, sum FROM log WHERE rev = ?")
      .rows(rev)
    if (row === undefined || oldSum(row) !== row[8]) throw damaged(file, `revision ${rev} does not match its checksum`)
    const [, key, type, created, , value, time, author] = row
    rows.add({ revision: rev, key, type, created, value, time, author })
  }
  rows.end(revision)
  made.exec("COMMIT")
}

/** Read without the values, which would be the whole file. */
function liveRevisions(old: SqliteDatabase): number[] {
  const newest = new Map<string, readonly [rev: number, type: number]>()
  for (const [rev, key, type] of old
    .prepare<readonly [number, string, number]>("SELECT rev, key, type FROM log ORDER BY rev")
    .rows())
    newest.set(key, [rev, type])
  return [...newest.values()].flatMap(([rev, type]) => (type === 2 ? [] : [rev])).sort((a, b) => a - b)
}

function oldSum([rev, key, type, created, prev, value, time, author]: OldRow): number {
  return crc32(`${rev} ${type} ${created} ${prev} ${time} ${key} ${author}`, crc32(value))
}
