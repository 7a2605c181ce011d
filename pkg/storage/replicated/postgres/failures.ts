import { PostgresError } from "../../../postgres/postgres-error.ts"
import { SharedLogError, type SharedLogErrorCode } from "../shared-log.ts"

const DISK_FULL = "53100"
/** SQLSTATE class 54: a limit of PostgreSQL is exceeded, such as the size of a row. */
const LIMITS = "54"
/**
 * SQLSTATE classes of errors that a retry does not mend: data, integrity, authentication, rights and names. Source:
 * PostgreSQL's appendix A.
 */
const REFUSALS: ReadonlySet<string> = new Set(["22", "23", "28", "42"])

/** Returns the error of a write, which may have happened if the connection was lost. */
export const commitFailure = (err: unknown): SharedLogError => failure(err, "unknown")
/** Returns the error of a read. */
export const readFailure = (err: unknown): SharedLogError => failure(err, "unavailable")

function failure(err: unknown, whenLost: SharedLogErrorCode): SharedLogError {
  if (err instanceof SharedLogError) return err
  if (!(err instanceof PostgresError)) return new SharedLogError(whenLost, String(err), { cause: err })
  return new SharedLogError(codeOf(err, whenLost), err.message, { cause: err })
}

function codeOf({ kind, sqlState = "" }: PostgresError, whenLost: SharedLogErrorCode): SharedLogErrorCode {
  if (kind === "unreachable") return "unavailable"
  if (kind === "lost") return whenLost
  if (sqlState === DISK_FULL) return "full"
  const group = sqlState.slice(0, 2)
  if (group === LIMITS) return "oversized"
  return REFUSALS.has(group) ? "refused" : "unavailable"
}
