/**
 * unreachable: no server accepted a connection, so nothing was sent. lost: the connection ended before the answer, so
 * the statement may have been carried out. answered: the server has refused the statement and undone its effects.
 */
export type PostgresErrorKind = "unreachable" | "lost" | "answered"

/** A statement for PostgreSQL failed. `message` is the server's own if it has answered. */
export class PostgresError extends Error {
  override readonly name = "PostgresError"
  constructor(
    readonly kind: PostgresErrorKind,
    message: string,
    /** The SQLSTATE, five letters and digits, if the server has answered. Source: PostgreSQL's appendix A. */
    readonly sqlState?: string,
  ) {
    super(message)
  }
}
