import { readFileSync } from "node:fs"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { wrongNameWords } from "../../errors/wrong-name-words.ts"
import { errorCode } from "./files.ts"

/** The server that names are looked up at, as Go names it. */
function nameServer(): string {
  try {
    const [, address] = /^nameserver\s+(\S+)/m.exec(readFileSync("/etc/resolv.conf", "utf8")) ?? []
    return address === undefined ? "" : ` on ${address.includes(":") ? `[${address}]` : address}:53`
  } catch {
    return ""
  }
}

/**
 * Returns an error of a connection in Go's words: `dial tcp 127.0.0.1:6443: connect: connection refused`. `local` is
 * this end of the connection, where there was one: `127.0.0.1:40000`.
 */
export function dialError(err: Error, url: URL, local?: string): Error {
  const code = errorCode(err)
  const { address, port } = err as { readonly address?: string; readonly port?: number }
  const host = url.hostname.replace(/^\[|\]$/g, "")
  const number = port ?? (url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port))
  const at = address ?? (host === "localhost" ? "127.0.0.1" : host)
  const target = at.includes(":") ? `[${at}]:${number}` : `${at}:${number}`
  const as = (message: string) => Object.assign(new Error(message, { cause: err }), { code })
  switch (code) {
    case "ECONNREFUSED":
    case "ConnectionRefused":
      return as(`dial tcp ${target}: connect: connection refused`)
    case "ENOTFOUND":
    case "EAI_NONAME":
      return as(`dial tcp: lookup ${host}${nameServer()}: no such host`)
    case "EAI_AGAIN":
      return as(`dial tcp: lookup ${host}: Temporary failure in name resolution`)
    case "ETIMEDOUT":
      return as(`dial tcp ${target}: i/o timeout`)
    case "EHOSTUNREACH":
      return as(`dial tcp ${target}: connect: no route to host`)
    case "ENETUNREACH":
      return as(`dial tcp ${target}: connect: network is unreachable`)
    case "ECONNRESET":
      // The server has closed the connection in order, but has not answered.
      if (err.message === "socket hang up") return as("EOF")
      return as(`read tcp ${local === undefined ? "" : `${local}->`}${target}: read: connection reset by peer`)
    case "HPE_INVALID_CONSTANT":
      return as(malformedWords(err))
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "CERT_UNTRUSTED":
      return as("tls: failed to verify certificate: x509: certificate signed by unknown authority")
    case "CERT_HAS_EXPIRED":
      return as("tls: failed to verify certificate: x509: certificate has expired or is not yet valid")
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return as(`tls: failed to verify certificate: x509: ${wrongNameWords(err, host)}`)
    default:
      return err
  }
}

/** Quotes the first line of an answer that is none of HTTP. Source: Go net/http/response.go, transport.go. */
function malformedWords(err: Error): string {
  const { rawPacket } = err as { readonly rawPacket?: Uint8Array }
  const [line = ""] = new TextDecoder().decode(rawPacket).split(/\r?\n/, 1)
  return `net/http: HTTP/1.x transport connection broken: malformed HTTP response ${goQuoted(line)}`
}
