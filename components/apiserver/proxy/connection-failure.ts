import { joinHostPort } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { connectionWords } from "../../../pkg/errors/connection-words.ts"
import { wrongNameWords } from "../../../pkg/errors/wrong-name-words.ts"
import { dialFailure } from "./dial-failure.ts"

/** Describes why a TLS connection to a host failed, in Go's words, which people search for. */
export function connectionFailure(
  err: NodeJS.ErrnoException,
  { host, port }: { readonly host: string; readonly port: number },
): string {
  const dialled = dialFailure(err.code, joinHostPort(host, port))
  if (dialled !== undefined) return dialled
  const certificate = CERTIFICATE_ERRORS[err.code ?? ""]
  if (certificate !== undefined) return `tls: failed to verify certificate: x509: ${certificate}`
  if (err.code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `tls: failed to verify certificate: x509: ${wrongNameWords(err, host)}`
  if (err.code === "ENOTFOUND") return `dial tcp: lookup ${host}: no such host`
  return connectionWords(err, { remote: joinHostPort(host, port) }) ?? err.message
}

const UNKNOWN_AUTHORITY = "certificate signed by unknown authority"
const CERTIFICATE_ERRORS: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  // An authority with the same name has another key.
  CERT_SIGNATURE_FAILURE: UNKNOWN_AUTHORITY,
  CERT_HAS_EXPIRED: "certificate has expired or is not yet valid",
}
