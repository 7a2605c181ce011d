import type { Clock } from "../../clock/clock.ts"
import type { SqliteDatabase } from "../../runtime/sqlite.ts"
import { checkRow, COLUMNS, rowSum, type Row, COLUMN } from "./format.ts"
import { StorageError } from "../storage.ts"
import { opened, sealed, type Place, type ValueTransformer } from "../value-transformer.ts"

/** The number of rows of one step, and the bytes of values after which a step ends. */
const STEP_ROWS = 100
const STEP_BYTES = 512 * 1024
/** The number of failures that are reported, because a longer list explains no more. */
const MOST_FAILURES = 20

export interface ReencryptOptions {
  readonly db: SqliteDatabase
  readonly file: string
  readonly clock: Clock
  readonly transformer: ValueTransformer
  /** Ends the work between two steps when it aborts. */
  readonly signal: AbortSignal
}

export interface Reencryption {
  /** The number of values that were written again. */
  readonly rewritten: number
  /** The number of values that could not be decrypted or encrypted, and stay as they were. */
  readonly failed: number
  /** The first `MOST_FAILURES` reasons. */
  readonly failures: readonly string[]
}

/**
 * Writes again every value of the log that the transformer would now write differently. Each step is a transaction.
 * Commits between two steps use the transformer already.
 */
export async function reencryptRows({ db, file, clock, transformer, signal }: ReencryptOptions): Promise<Reencryption> {
  // One at a time: a hundred large values would fill the memory, and the next step would read all but the first again.
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
      last = row[COLUMN.rev]
      bytes += row[COLUMN.value].length
    }
    db.exec("COMMIT")
    await new Promise<void>((resolve) => void clock.setTimeout(resolve, 1, "upkeep"))
  }
  return { rewritten, failed, failures }
}

/** Returns the row with its value written again; undefined when the value is up to date. */
function renewed(row: Row, transformer: ValueTransformer): Row | StorageError | undefined {
  const place: Place = { key: row[COLUMN.key], revision: row[COLUMN.rev] }
  try {
    const { json, stale } = opened(transformer, row[COLUMN.value], place)
    if (!stale) return undefined
    return row.with(8, sealed(transformer, json, place)) as unknown as Row
  } catch (err) {
    if (err instanceof StorageError) return err
    throw err
  }
}
