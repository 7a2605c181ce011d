import { EtcdError } from "../../../etcd/connection.ts"
import { SharedLogError, type SharedLogErrorCode } from "../shared-log.ts"

/** etcd checks the leases of a transaction before it writes anything. */
const UNKNOWN_LEASE = /requested lease not found/

/** Errors after which nothing was written for certain. Source: etcd api/v3rpc/rpctypes/error.go. */
const CERTAIN: readonly { readonly text: RegExp; readonly code: SharedLogErrorCode }[] = [
  { text: /database space exceeded/, code: "full" },
  { text: /required revision has been compacted/, code: "compacted" },
  // The second one is gRPC's own limit of a message, 512 KiB above etcd's.
  { text: /request is too large|received message larger than max|too many operations/, code: "oversized" },
  {
    text: /no leader|too many requests|not capable|No connection established|Name resolution failed|has been closed/,
    code: "unavailable",
  },
  { text: UNKNOWN_LEASE, code: "unavailable" },
]
const REFUSALS: ReadonlySet<string> = new Set([
  "InvalidArgument",
  "PermissionDenied",
  "Unauthenticated",
  "FailedPrecondition",
  "Unimplemented",
])

/** Returns the error of a write. Its code is `unknown` unless nothing was written for certain. */
export const commitFailure = (err: unknown): SharedLogError => failure(err, "unknown")
/** Returns the error of a read. */
export const readFailure = (err: unknown): SharedLogError => failure(err, "unavailable")

/** Returns whether a write has failed because its lease has ended or was revoked. */
export const isUnknownLease = ({ message }: SharedLogError): boolean => UNKNOWN_LEASE.test(message)

function failure(err: unknown, otherwise: SharedLogErrorCode): SharedLogError {
  if (err instanceof SharedLogError) return err
  const { code, message } = EtcdError.from(err)
  const certain = CERTAIN.find(({ text }) => text.test(message))?.code
  return new SharedLogError(certain ?? (REFUSALS.has(code) ? "refused" : otherwise), message, { cause: err })
}
