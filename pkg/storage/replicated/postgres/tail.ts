import type { PostgresSession } from "../../../postgres/session.ts"
import { SharedLogError, type SharedChange, type SharedLogObserver } from "../shared-log.ts"
import { readFailure } from "./failures.ts"
import { changeOf, PAGE_BYTES, PAGE_ROWS, revisionIn } from "./rows.ts"
import { CHANNEL } from "./schema.ts"

const TIMEOUT_MS = 30_000

/** One statement sees one state of the database: it returns the changes, or says that they were compacted. */
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
  /** Throws when the database ends at this revision although this server has seen a newer one. */
  check(head: number): void
}

/** Reads the changes after a revision, and new ones whenever PostgreSQL notifies it. */
export class Tail {
  readonly #options: TailOptions
  /** The changes of a commit that was read only in part so far. */
  #parts: SharedChange[] = []
  #read: number
  #isReading = false
  #isDue = false
  #isOver = false
  /** The revision up to which the observer has been told of all changes. */
  reached: number

  constructor(options: TailOptions) {
    this.#options = options
    this.reached = this.#read = options.after
  }

  /** Listens for notifications, and reads the changes that exist already. */
  begin(): void {
    this.#options.session.ask({ text: `LISTEN ${CHANNEL}` }, TIMEOUT_MS).then(
      () => this.pull(),
      (err: unknown) => this.end(readFailure(err)),
    )
  }

  /** Reads new changes. */
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
    // No turn of the event loop may pass between the last check for new work and this line, or a notification would be
    // lost.
    this.#isReading = false
  }

  #tell(): void {
    const changes = this.#parts
    this.#parts = []
    this.reached = this.#read
    this.#options.advanced(changes, this.reached)
  }
}
