/**
 * unreachable: no server took the connection, so nothing was asked. lost: the connection ended before the answer, so
 * what was asked may have happened. answered: the server has refused, and undone what was asked.
 */
export type PostgresErrorKind = "unreachable" | "lost" | "answered"

/** A question to PostgreSQL failed. `message` is the server's own where it has answered. */
export class PostgresError extends Error {
  override readonly name = "PostgresError"
  constructor(
    readonly kind: PostgresErrorKind,
    message: string,
    /** Five letters and digits, where the server has answered. Source: PostgreSQL's appendix A. */
    readonly sqlState?: string,
  ) {
    super(message)
  }
}
