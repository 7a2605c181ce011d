import { PostgresError } from "../../../postgres/postgres-error.ts"
import { SharedLogError, type SharedLogErrorCode } from "../shared-log.ts"

const DISK_FULL = "53100"
/**
 * Classes of errors that do not go away by themselves: data, integrity, authentication, rights and names, limits.
 * Source: PostgreSQL's appendix A.
 */
const REFUSALS: ReadonlySet<string> = new Set(["22", "23", "28", "42", "54"])

/** The error of a question that changes something. */
export const commitFailure = (err: unknown): SharedLogError => failure(err, "unknown")
/** The error of a question that changes nothing. */
export const readFailure = (err: unknown): SharedLogError => failure(err, "unavailable")

function failure(err: unknown, whenLost: SharedLogErrorCode): SharedLogError {
  if (err instanceof SharedLogError) return err
  if (!(err instanceof PostgresError)) throw err
  return new SharedLogError(codeOf(err, whenLost), err.message, { cause: err })
}

function codeOf({ kind, sqlState = "" }: PostgresError, whenLost: SharedLogErrorCode): SharedLogErrorCode {
  if (kind === "unreachable") return "unavailable"
  if (kind === "lost") return whenLost
  if (sqlState === DISK_FULL) return "full"
  return REFUSALS.has(sqlState.slice(0, 2)) ? "refused" : "unavailable"
}
