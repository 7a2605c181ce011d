/**
 * What became of a statement:
 *
 *  - unreachable: no server accepted a connection, so nothing was sent.
 *  - lost: the connection ended before the answer, so the statement may have been executed.
 *  - answered: the server refused the statement and undid its effects.
 */
export type PostgresErrorKind = "unreachable" | "lost" | "answered"

/** A failed statement. `message` is the server's own if the server has answered. */
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
