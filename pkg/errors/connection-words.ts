/** What is known of a connection that failed. */
interface Connection {
  /** The addresses of both ends, such as `10.42.0.1:50000` and `10.42.0.5:8443`. */
  readonly local?: string | undefined
  readonly remote: string
}

/** Alerts whose words are not those of their name in OpenSSL. Source: Go crypto/tls alert.go. */
const ALERTS: Readonly<Record<string, string>> = {
  "protocol version": "protocol version not supported",
  "unknown ca": "unknown certificate authority",
  "decode error": "error decoding message",
  "decrypt error": "error decrypting message",
  "insufficient security": "insufficient security level",
  "unexpected message": "unexpected message",
}

/**
 * Returns why a connection failed after it was established, in the words of Go's HTTP client, by which users search and
 * alerts match; undefined for other errors. Source: Go net/http transport.go, crypto/tls.
 */
export function connectionWords(err: Error, { local, remote }: Connection): string | undefined {
  const { code, syscall } = err as NodeJS.ErrnoException
  if (code === undefined) return undefined
  if (code === "ECONNRESET" && syscall === "read")
    return `read tcp ${local === undefined ? "" : `${local}->`}${remote}: read: connection reset by peer`
  // The other side has closed the connection, which Node.js and Bun call a reset too.
  if (code === "ECONNRESET" || code === "ERR_SOCKET_CLOSED" || code === "ERR_SOCKET_CONNECTION_CLOSED") return "EOF"
  if (code === "EPIPE") return `write tcp ${local === undefined ? "" : `${local}->`}${remote}: write: broken pipe`
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER") return "http: server gave HTTP response to HTTPS client"
  if (code.startsWith("HPE_")) return "net/http: HTTP/1.x transport connection broken: malformed HTTP response"
  const alert = /^ERR_SSL_(?:TLSV1|TLSV13|SSLV3)_(?:ALERT_)?(\w+)$/.exec(code)?.[1]
  if (alert === undefined) return undefined
  const words = alert.toLowerCase().replaceAll("_", " ")
  return `remote error: tls: ${ALERTS[words] ?? words}`
}
