import type { PostgresConnection, Row } from "../../../postgres/connection.ts"
import { PostgresSession, type PostgresOptions } from "../../../postgres/session.ts"
import { CommitBatches, type Outcomes } from "../commit-batches.ts"
import {
  SharedLogError,
  type SharedEntry,
  type SharedLog,
  type SharedLogObserver,
  type SharedWrite,
} from "../shared-log.ts"
import { Compactor } from "./compactor.ts"
import { commitFailure, readFailure } from "./failures.ts"
import { entryOf, PAGE_BYTES, PAGE_ROWS, revisionIn } from "./rows.ts"
import { ensureSchema, SETUP } from "./schema.ts"
import { Tail } from "./tail.ts"

const PAGE_TIMEOUT_MS = 30_000
const LATEST_TIMEOUT_MS = 2000
/**
 * After this time the outcome of a commit counts as unknown, in milliseconds. PostgreSQL's own timeouts are shorter, so
 * that it usually answers first.
 */
const COMMIT_TIMEOUT_MS = 3000
const STATEMENT_TIMEOUT_MS = 2500
/** One batch at a time: commits take a lock in the database, so more connections would only wait. */
const LIMITS = { mostWrites: 500, mostBytes: 4 * 1024 * 1024, mostUnderWay: 1 }

const COMMIT = "SELECT k3ts.commit($1, $2, $3, $4) AS revisions"
const LATEST = "SELECT coalesce(max(revision), 0) AS revision, pg_is_in_recovery() AS standby FROM k3ts.revisions"
const PAGE = `
SELECT key, revision, created, value FROM (
  SELECT *, sum(octet_length(value)) OVER (ORDER BY key) - octet_length(value) AS before FROM (
    SELECT key, revision, created, value FROM k3ts.revisions WHERE live AND key > $1 ORDER BY key LIMIT ${PAGE_ROWS}
  ) AS page
) AS measured WHERE before < ${PAGE_BYTES} ORDER BY key`

const BEFORE = `
SELECT key, revision, created, value FROM k3ts.revisions WHERE key = $1 AND revision < $2 ORDER BY revision DESC LIMIT 1`

/**
 * The log in PostgreSQL. One connection commits; another one follows the changes and also reads the newest revision.
 * Both are opened at first use. Reading the newest revision on the following connection shows whether changes still
 * arrive: if that connection is dead, the read fails too; if it is alive, the answer says which revision is still to
 * come.
 */
export class PostgresLog implements SharedLog {
  readonly #options: PostgresOptions
  readonly #writer: PostgresSession
  readonly #follower: PostgresSession
  readonly #batches: CommitBatches
  readonly #compactor = new Compactor()
  readonly #tails = new Set<Tail>()
  /** Separate connections for the operations that take long (reading everything, compacting), while these run. */
  readonly #aside = new Set<PostgresSession>()
  /** The newest revision that this server has ever seen. */
  #newest = 0
  /** Set, and never cleared, when the database turns out to be older than `#newest`. */
  #setBack: SharedLogError | undefined
  #closed = false

  constructor(options: PostgresOptions) {
    this.#options = options
    this.#writer = new PostgresSession(options, `${SETUP}; SET statement_timeout = ${STATEMENT_TIMEOUT_MS}`)
    this.#follower = new PostgresSession(options, SETUP, {
      notified: () => this.#tails.forEach((tail) => tail.pull()),
      ended: (reason) => this.#tails.forEach((tail) => tail.end(readFailure(reason))),
    })
    this.#batches = new CommitBatches({ ...LIMITS, clock: options.clock, send: (commits) => this.#commit(commits) })
  }

  read(page: (entries: readonly SharedEntry[]) => void): Promise<number> {
    return this.#apart(async (connection) => {
      await ensureSchema(connection)
      const ask = (text: string, values: unknown[] = []) => connection.ask({ text, values }, PAGE_TIMEOUT_MS)
      // All pages are read in one transaction, so they show the same state.
      await ask("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
      const revision = this.#seen(await ask(LATEST))
      for (let after = ""; ;) {
        const entries = (await ask(PAGE, [after])).map(entryOf)
        if (entries.length === 0) return revision
        page(entries)
        after = entries.at(-1)!.key
      }
    })
  }

  before(key: string, revision: number): Promise<SharedEntry | undefined> {
    return this.#apart(async (connection) => {
      const [state] = await connection.ask({ text: "SELECT compacted FROM k3ts.state" }, PAGE_TIMEOUT_MS)
      if (revisionIn(state?.["compacted"]) >= revision)
        throw new SharedLogError("compacted", `states before revision ${revision} have been compacted`)
      const [row] = await connection.ask({ text: BEFORE, values: [key, revision] }, PAGE_TIMEOUT_MS)
      return row === undefined || row["value"] === null ? undefined : entryOf(row)
    })
  }

  watch(after: number, observer: SharedLogObserver): { close(): void } {
    this.#newest = Math.max(this.#newest, after)
    const tail: Tail = new Tail({
      session: this.#follower,
      after,
      check: (head) => this.#check(head),
      advanced: (changes, revision) => observer.advanced(changes, revision),
      ended: (reason) => {
        this.#tails.delete(tail)
        observer.ended(reason)
      },
    })
    this.#tails.add(tail)
    tail.begin()
    return {
      close: () => {
        this.#tails.delete(tail)
        tail.close()
      },
    }
  }

  commit(writes: readonly SharedWrite[]): Promise<readonly number[] | undefined> {
    return this.#batches.commit(writes)
  }

  async latest(): Promise<number> {
    try {
      const revision = this.#seen(await this.#follower.ask({ name: "latest", text: LATEST }, LATEST_TIMEOUT_MS))
      for (const tail of this.#tails) if (tail.reached < revision) tail.pull()
      return revision
    } catch (err) {
      throw readFailure(err)
    }
  }

  compact(revision: number): Promise<void> {
    return this.#apart((connection) => this.#compactor.compact(connection, revision))
  }

  close(): void {
    this.#closed = true
    for (const tail of this.#tails) tail.close()
    this.#tails.clear()
    for (const session of [this.#writer, this.#follower, ...this.#aside]) session.close()
  }

  async #commit(commits: readonly (readonly SharedWrite[])[]): Promise<Outcomes> {
    if (this.#setBack !== undefined) throw this.#setBack
    const writes = commits.flat()
    let end = 0
    const ends = commits.map(({ length }) => (end += length))
    const values = [
      ends,
      writes.map(({ key }) => key),
      writes.map(({ expected }) => expected),
      writes.map(({ value }) => (value === undefined ? null : Buffer.from(value))),
    ]
    try {
      const [row] = await this.#writer.ask({ name: "commit", text: COMMIT, values }, COMMIT_TIMEOUT_MS)
      const revisions = (row!["revisions"] as readonly string[]).map(Number)
      return commits.map(({ length }, i) => {
        const own = revisions.slice(ends[i]! - length, ends[i])
        return own[0] === 0 ? undefined : own
      })
    } catch (err) {
      throw commitFailure(err)
    }
  }

  async #apart<T>(run: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    if (this.#closed) throw new SharedLogError("unavailable", "the store has been closed")
    const session = new PostgresSession(this.#options, SETUP)
    this.#aside.add(session)
    try {
      return await run(await session.connect())
    } catch (err) {
      throw readFailure(err)
    } finally {
      this.#aside.delete(session)
      session.close()
    }
  }

  /** Returns the revision in the result of `LATEST`. @throws SharedLogError unavailable */
  #seen([row]: readonly Row[]): number {
    if (row?.["standby"] !== false) throw new SharedLogError("unavailable", "the server has become a standby")
    const revision = revisionIn(row["revision"])
    this.#check(revision)
    return revision
  }

  /**
   * Checks that the database has not lost writes that this server has seen: after a restore, or when a standby was
   * promoted that had not received them. Then memory and database differ, and no event would show the differences, so
   * the log stays unusable until the server restarts.
   * @throws SharedLogError unavailable
   */
  #check(head: number): void {
    if (head < this.#newest)
      this.#setBack ??= new SharedLogError(
        "unavailable",
        `the database ends at revision ${head}, but this server has seen ${this.#newest}: it is an older copy. ` +
          "Restart all servers",
      )
    if (this.#setBack !== undefined) throw this.#setBack
    this.#newest = head
  }
}
