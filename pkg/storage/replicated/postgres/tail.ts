import type { PostgresSession } from "../../../postgres/session.ts"
import { SharedLogError, type SharedChange, type SharedLogObserver } from "../shared-log.ts"
import { readFailure } from "./failures.ts"
import { changeOf, PAGE_BYTES, PAGE_ROWS, revisionIn } from "./rows.ts"
import { CHANNEL } from "./schema.ts"

const TIMEOUT_MS = 30_000

/** One statement sees one state: either the changes are there, or it says that they were compacted. */
const CHANGES = `
SELECT compacted, (SELECT coalesce(max(revision), 0) FROM k3ts.revisions) AS head, changes.*
FROM k3ts.state LEFT JOIN (
  SELECT * FROM (
    SELECT *, sum(bytes) OVER (ORDER BY revision) - bytes AS before FROM (
      SELECT revision, created, more, key, value, coalesce(octet_length(value), 0) AS bytes FROM k3ts.revisions
      WHERE revision > $1 ORDER BY revision LIMIT ${PAGE_ROWS}
    ) AS page
  ) AS measured WHERE before < ${PAGE_BYTES}
) AS changes ON true ORDER BY revision`

export interface TailOptions extends SharedLogObserver {
  readonly session: PostgresSession
  readonly after: number
  /** Throws when the log cannot end at this revision. */
  check(head: number): void
}

/** Reads the changes after a revision, and those that come, whenever it is told that there are some. */
export class Tail {
  readonly #options: TailOptions
  /** The changes of a commit whose last one has not been read. */
  #parts: SharedChange[] = []
  #read: number
  #isReading = false
  #isDue = false
  #isOver = false
  /** The revision up to which everything has been told. */
  reached: number

  constructor(options: TailOptions) {
    this.#options = options
    this.reached = this.#read = options.after
  }

  /** Listens, and reads what is there already. */
  begin(): void {
    this.#options.session.ask({ text: `LISTEN ${CHANNEL}` }, TIMEOUT_MS).then(
      () => this.pull(),
      (err: unknown) => this.end(readFailure(err)),
    )
  }

  /** Reads what has come. */
  pull(): void {
    this.#isDue = true
    if (this.#isReading || this.#isOver) return
    this.#isReading = true
    this.#readAll().catch((err: unknown) => this.end(readFailure(err)))
  }

  close(): void {
    this.#isOver = true
  }

  end(reason: SharedLogError): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#options.ended(reason)
  }

  async #readAll(): Promise<void> {
    while (this.#isDue && !this.#isOver) {
      this.#isDue = false
      const rows = await this.#options.session.ask({ name: "changes", text: CHANGES, values: [this.#read] }, TIMEOUT_MS)
      if (this.#isOver) return
      const head = revisionIn(rows[0]?.["head"])
      this.#options.check(head)
      const compacted = revisionIn(rows[0]?.["compacted"])
      if (compacted > this.#read) throw new SharedLogError("compacted", `changes up to revision ${compacted} are gone`)
      for (const row of rows) {
        if (row["revision"] === null) continue
        const change = changeOf(row)
        this.#parts.push(change)
        this.#read = change.revision
      }
      this.#isDue ||= this.#read < head
      if (rows.at(-1)?.["more"] !== true) this.#tell()
    }
    // In the same turn as the last look at what is due.
    this.#isReading = false
  }

  #tell(): void {
    const changes = this.#parts
    this.#parts = []
    this.reached = this.#read
    this.#options.advanced(changes, this.reached)
  }
}
