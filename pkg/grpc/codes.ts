/** gRPC's codes by number. Source: grpc doc/statuscodes.md. */
export const GRPC_CODES = [
  "OK",
  "Cancelled",
  "Unknown",
  "InvalidArgument",
  "DeadlineExceeded",
  "NotFound",
  "AlreadyExists",
  "PermissionDenied",
  "ResourceExhausted",
  "FailedPrecondition",
  "Aborted",
  "OutOfRange",
  "Unimplemented",
  "Internal",
  "Unavailable",
  "DataLoss",
  "Unauthenticated",
] as const
export type GrpcCode = (typeof GRPC_CODES)[number]
