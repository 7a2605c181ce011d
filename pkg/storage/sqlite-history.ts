/**
 * Keeps the history on disk within its bounds and gives space back, in steps of a few milliseconds with the event loop
 * in between: what superseded rows take is dropped from the oldest on, then the pages that fell free at the end of the
 * file are cut off.
 */
import type { Clock, Timer } from "../clock/clock.ts"
import type { SqliteDatabase } from "../runtime/sqlite.ts"
import { DELETE, writeMeta } from "./sqlite-format.ts"

/** One step drops what this many events superseded at most, or so many bytes. */
const STEP_REVISIONS = 500
const STEP_BYTES = 1024 * 1024
/** When history is cut for its size, so many revisions go at a time. */
const CUT_REVISIONS = 100
/** When history has outgrown its bound it is cut to this part of it, so that not every write has to cut. */
const KEPT_OF_BOUND = 0.9
/** Pages that one step of giving back moves. */
const STEP_PAGES = 32
/** Free pages that the file keeps, as new writes need some: at least so many, and a part of those in use. */
const SPARE_PAGES = 128
const SPARE_PART = 0.1
/** What a row takes beside its value, key and author. */
const ROW_BYTES = 50

export interface HistoryOptions {
  readonly db: SqliteDatabase
  readonly clock: Clock
  /** Most bytes of superseded rows. */
  readonly maxBytes: number
  /** Up to which revision compaction has done its work. */
  readonly cleaned: number
  /** Bytes of the live rows. */
  readonly liveBytes: number
  /**
   * Brings the list of live rows up to date, so that what is dropped is not in it; gives the revision up to which it
   * is.
   */
  fold(): number
  /** Declares revisions up to this one as gone, which makes this object drop them. */
  compact(revision: number): void
  readonly compacted: () => number
  readonly revision: () => number
  /** A step has failed. What it was about to do stays to be done. */
  failed(err: unknown): void
}

const bytesOf = (row: string): string =>
  `length(${row}.value) + length(${row}.key) + length(${row}.author) + ${ROW_BYTES}`

/** The events of a step, with the bytes of the row that each superseded and, of a deletion, with its own. */
const DROPPED = `
  SELECT event.rev, event.prev, ${bytesOf("old")}, CASE event.type WHEN ${DELETE} THEN ${bytesOf("event")} END
    FROM log event LEFT JOIN log old ON old.rev = event.prev
    WHERE event.rev > ? AND event.rev <= ? ORDER BY event.rev LIMIT ${STEP_REVISIONS}`

/** Bytes that a row takes on disk, nearly. */
export const rowBytes = (value: number, key: string, author: string): number =>
  value + key.length + author.length + ROW_BYTES

export class SqliteHistory {
  readonly #options: HistoryOptions
  #timer: Timer | undefined
  #cleaned: number
  #upTo: number
  /** Up to which revision the list of live rows is right. */
  #folded = 0
  /**
   * Of superseded rows and deletions. After a start it is what the file has beyond the live rows, half-filled pages
   * included.
   */
  #bytes: number
  /** History has outgrown its bound, and has not been cut far enough yet. */
  #cutting = false

  constructor(options: HistoryOptions) {
    this.#options = options
    this.#cleaned = options.cleaned
    this.#upTo = options.cleaned
    const used = (this.#number("page_count") - this.#number("freelist_count")) * this.#number("page_size")
    this.#bytes = Math.max(0, used - options.liveBytes)
    this.grew(0)
    this.#later()
  }

  /** A commit has added so many bytes to the history. */
  grew(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes <= this.#options.maxBytes) return
    this.#cutting = true
    this.#later()
  }

  /** All that events up to `revision` superseded is to go. */
  dropUpTo(revision: number): void {
    this.#upTo = Math.max(this.#upTo, revision)
    this.#later()
  }

  stop(): void {
    this.#timer?.cancel()
  }

  #later(): void {
    this.#timer ??= this.#options.clock.setTimeout(
      () => {
        this.#timer = undefined
        try {
          if (this.#step()) this.#later()
        } catch (err) {
          // Rows and pages stay; the next commit or compaction begins where this one ended.
          this.#options.failed(err)
        }
      },
      1,
      "upkeep",
    )
  }

  /** Does a part of what there is to do; gives whether there may be more. */
  #step(): boolean {
    if (this.#cleaned < this.#upTo) this.#drop()
    else if (this.#cutting) this.#cut()
    else return this.#giveBack()
    return true
  }

  #cut(): void {
    const { maxBytes, compact, compacted, revision } = this.#options
    if (compacted() >= revision()) this.#bytes = 0 // what is left is no history, but pages that are not full
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
      // The newest row stays, as it says how far the log is.
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

  /** Moves pages from the end of the file into free ones before it, and cuts the end off. */
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
