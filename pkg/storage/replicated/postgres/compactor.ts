import type { PostgresConnection } from "../../../postgres/connection.ts"

const TIMEOUT_MS = 30_000
/** How many rows one statement deletes at most, so that each transaction is short. */
const PORTION = 5000

const CLAIM = `
UPDATE k3ts.state SET compacted = greatest(compacted, $1), compactions = compactions + 1 WHERE compactions = $2`
/** The newest row always stays, because it marks the end of the log. */
const DELETE = `
WITH deleted AS (
  DELETE FROM k3ts.revisions WHERE revision IN (
    SELECT revision FROM k3ts.revisions
    WHERE NOT live AND revision <= $1 AND revision < (SELECT max(revision) FROM k3ts.revisions)
    ORDER BY revision LIMIT ${PORTION}
  ) RETURNING 1
) SELECT count(*)::integer AS count FROM deleted`

/**
 * Deletes superseded rows. Every server tries at intervals. A number in the database counts the compactions: when
 * another server has compacted since its last attempt, a server does nothing.
 */
export class Compactor {
  /** The number of compactions that this server has seen. */
  #count = 0

  /** @throws PostgresError */
  async compact(connection: PostgresConnection, revision: number): Promise<void> {
    const claim = `WITH claimed AS (${CLAIM} RETURNING 1) SELECT count(*)::integer AS count FROM claimed`
    const [claimed] = await connection.ask({ text: claim, values: [revision, this.#count] }, TIMEOUT_MS)
    if (claimed?.["count"] !== 1) {
      const [state] = await connection.ask({ text: "SELECT compactions FROM k3ts.state" }, TIMEOUT_MS)
      this.#count = Number(state?.["compactions"])
      return
    }
    this.#count++
    for (;;) {
      const [deleted] = await connection.ask({ text: DELETE, values: [revision] }, TIMEOUT_MS)
      if (Number(deleted?.["count"]) < PORTION) return
    }
  }
}
