import type { Clock } from "../../clock/clock.ts"
import type { SqliteDatabase } from "../../runtime/sqlite.ts"
import { checkRow, COLUMNS, rowSum, type Row } from "./format.ts"
import { StorageError } from "../storage.ts"
import { opened, sealed, type Place, type ValueTransformer } from "../value-transformer.ts"

/** Most rows of one step, and the bytes of values after which a step ends. */
const STEP_ROWS = 100
const STEP_BYTES = 512 * 1024
/** Most failures that are told; a longer list explains no more. */
const MOST_FAILURES = 20

export interface ReencryptOptions {
  readonly db: SqliteDatabase
  readonly file: string
  readonly clock: Clock
  readonly transformer: ValueTransformer
  /** Ends the work between two steps. */
  readonly signal: AbortSignal
}

export interface Reencryption {
  /** Values that were written anew. */
  readonly rewritten: number
  /** Values that could not be decrypted, or not encrypted anew, and stay as they were. */
  readonly failed: number
  /** The first reasons. */
  readonly failures: readonly string[]
}

/**
 * Writes every value of the log anew that the transformer would now write otherwise. Each step is a transaction, and
 * others commit between two steps: what they write is up to date already.
 */
export async function reencryptRows({ db, file, clock, transformer, signal }: ReencryptOptions): Promise<Reencryption> {
  // One at a time: a hundred large values would fill the memory, and all but the first be read again by the next step.
  const next = db.prepare<Row>(`SELECT ${COLUMNS} FROM log WHERE rev > ? ORDER BY rev LIMIT 1`)
  const update = db.prepare("UPDATE log SET value = ?, sum = ? WHERE rev = ?")
  const failures: string[] = []
  let [last, rewritten, failed, isEnd] = [-1, 0, 0, false]
  while (!isEnd && !signal.aborted) {
    db.exec("BEGIN IMMEDIATE")
    for (let rows = 0, bytes = 0; rows < STEP_ROWS && bytes <= STEP_BYTES; rows++) {
      const [row] = next.rows(last)
      if (row === undefined) {
        isEnd = true
        break
      }
      const changed = renewed(checkRow(row, file), transformer)
      if (changed instanceof StorageError) {
        failed++
        if (failures.length < MOST_FAILURES) failures.push(changed.message)
      } else if (changed !== undefined) {
        rewritten++
        update.run(changed[8], rowSum(changed), changed[0])
      }
      last = row[0]
      bytes += row[8].length
    }
    db.exec("COMMIT")
    await new Promise<void>((resolve) => void clock.setTimeout(resolve, 1, "upkeep"))
  }
  return { rewritten, failed, failures }
}

/** The row with its value written anew; undefined where the value is up to date. */
function renewed(row: Row, transformer: ValueTransformer): Row | StorageError | undefined {
  const place: Place = { key: row[1], revision: row[0] }
  try {
    const { json, stale } = opened(transformer, row[8], place)
    if (!stale) return undefined
    return row.with(8, sealed(transformer, json, place)) as unknown as Row
  } catch (err) {
    if (err instanceof StorageError) return err
    throw err
  }
}
