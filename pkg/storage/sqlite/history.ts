/**
 * Limits the history on disk and gives free space back, in steps of a few milliseconds: deletes superseded rows from
 * the oldest on, then cuts off free pages at the end of the file.
 */
import type { Clock, Timer } from "../../clock/clock.ts"
import type { SqliteDatabase } from "../../runtime/sqlite.ts"
import { DELETE, writeMeta } from "./format.ts"

/** The number of events, and of bytes, whose superseded rows one step deletes. */
const STEP_REVISIONS = 500
const STEP_BYTES = 1024 * 1024
/** Revisions that are compacted at once when history exceeds its size. */
const CUT_REVISIONS = 100
/** History that exceeds its limit is cut to this share of it, so that not every write has to cut. */
const KEPT_OF_BOUND = 0.9
/** Pages that one step of vacuuming moves. */
const STEP_PAGES = 32
/** The number of free pages that the file keeps for new writes: at least this many, and this share of the used ones. */
const SPARE_PAGES = 128
const SPARE_PART = 0.1
/** The size of a row without its value, key and author, in bytes. */
const ROW_BYTES = 50

export interface HistoryOptions {
  readonly db: SqliteDatabase
  readonly clock: Clock
  /** The largest size of superseded rows, in bytes. */
  readonly maxBytes: number
  /** The revision up to which superseded rows have been deleted. */
  readonly cleaned: number
  /** The size of the live rows, in bytes. */
  readonly liveBytes: number
  /** Updates the list of live rows, so that it contains no row that is deleted next. Returns its revision. */
  fold(): number
  /** Compacts up to this revision, which makes this object delete superseded rows. */
  compact(revision: number): void
  readonly compacted: () => number
  readonly revision: () => number
  /** Called when a step has failed. A later step does its work. */
  failed(err: unknown): void
}

const bytesOf = (row: string): string =>
  `length(${row}.value) + length(${row}.key) + length(${row}.author) + ${ROW_BYTES}`

/** The events of a step, with the size of the rows that they superseded, and of deletions themselves. */
const DROPPED = `
  SELECT event.rev, event.prev, ${bytesOf("old")}, CASE event.type WHEN ${DELETE} THEN ${bytesOf("event")} END
    FROM log event LEFT JOIN log old ON old.rev = event.prev
    WHERE event.rev > ? AND event.rev <= ? ORDER BY event.rev LIMIT ${STEP_REVISIONS}`

/** Returns the approximate size of a row on disk, in bytes. */
export const rowBytes = (value: number, key: string, author: string): number =>
  value + key.length + author.length + ROW_BYTES

export class SqliteHistory {
  readonly #options: HistoryOptions
  #timer: Timer | undefined
  #stopped = false
  #cleaned: number
  #upTo: number
  /** The revision of the list of live rows. */
  #folded = 0
  /**
   * The size of superseded rows and deletions, in bytes. After a start: the size of the file beyond the live rows,
   * including half-filled pages.
   */
  #bytes: number
  /** Whether history has exceeded its limit and has not been cut enough yet. */
  #cutting = false
  /** The number of readers for whom superseded rows are kept. */
  #readers = 0

  constructor(options: HistoryOptions) {
    this.#options = options
    this.#cleaned = options.cleaned
    this.#upTo = options.cleaned
    const used = (this.#number("page_count") - this.#number("freelist_count")) * this.#number("page_size")
    this.#bytes = Math.max(0, used - options.liveBytes)
    this.grew(0)
    this.#later()
  }

  /** Called when a commit has added this many bytes to the history. */
  grew(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes <= this.#options.maxBytes) return
    this.#cutting = true
    this.#later()
  }

  /** Deletes everything that the events up to `revision` superseded. */
  dropUpTo(revision: number): void {
    this.#upTo = Math.max(this.#upTo, revision)
    this.#later()
  }

  /** Keeps all rows until the returned function is called. */
  keep(): () => void {
    let isKept = true
    this.#readers++
    return () => {
      if (isKept && --this.#readers === 0) this.#later()
      isKept = false
    }
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  #later(): void {
    if (this.#stopped) return
    this.#timer ??= this.#options.clock.setTimeout(
      () => {
        this.#timer = undefined
        try {
          if (this.#step()) this.#later()
        } catch (err) {
          // Rows and pages stay. The next commit or compaction continues here.
          this.#options.failed(err)
        }
      },
      1,
      "upkeep",
    )
  }

  /** Does one step of work; returns whether there may be more. */
  #step(): boolean {
    if (this.#readers > 0) return false
    if (this.#cleaned < this.#upTo) this.#drop()
    else if (this.#cutting) this.#cut()
    else return this.#giveBack()
    return true
  }

  #cut(): void {
    const { maxBytes, compact, compacted, revision } = this.#options
    if (compacted() >= revision()) this.#bytes = 0 // no history is left: the rest are half-filled pages
    this.#cutting = this.#bytes > maxBytes * KEPT_OF_BOUND
    if (this.#cutting) compact(Math.min(compacted() + CUT_REVISIONS, revision()))
  }

  #drop(): void {
    const { db, fold, revision } = this.#options
    if (this.#upTo > this.#folded) this.#folded = fold()
    const rows = db
      .prepare<readonly [rev: number, prev: number, superseded: number | null, own: number | null]>(DROPPED)
      .rows(this.#cleaned, this.#upTo)
    const remove = db.prepare("DELETE FROM log WHERE rev = ?")
    const newest = revision()
    let [end, bytes] = [this.#cleaned, 0]
    db.exec("BEGIN IMMEDIATE")
    for (const [rev, prev, superseded, deletion] of rows) {
      if (prev !== 0) remove.run(prev)
      // The newest row stays, because it marks the end of the log.
      if (deletion !== null && rev !== newest) remove.run(rev)
      bytes += (superseded ?? 0) + (deletion ?? 0)
      end = rev
      if (bytes > STEP_BYTES) break
    }
    if (rows.length < STEP_REVISIONS && end === (rows.at(-1)?.[0] ?? end)) end = this.#upTo
    writeMeta(db, "compacted", end)
    db.exec("COMMIT")
    this.#cleaned = end
    this.#bytes = Math.max(0, this.#bytes - bytes)
  }

  /** Moves pages from the end of the file into free ones, and cuts the end off. */
  #giveBack(): boolean {
    const free = this.#number("freelist_count")
    const spare = Math.max(SPARE_PAGES, Math.ceil((this.#number("page_count") - free) * SPARE_PART))
    if (free <= spare) return false
    this.#options.db.exec(`PRAGMA incremental_vacuum(${Math.min(STEP_PAGES, free - spare)})`)
    return true
  }

  #number(pragma: string): number {
    return this.#options.db.prepare<readonly [number]>(`PRAGMA ${pragma}`).rows()[0]![0]
  }
}
