import type { ConnectionOptions } from "node:tls"
import { trusting } from "../../pki/trust.ts"
import type { TlsOptions } from "./connect.ts"

export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "")
export const portOf = (url: URL): number =>
  url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port)

/** The options of a TLS connection. */
export function tlsOf(tls: TlsOptions, url: URL): ConnectionOptions {
  const host = hostOf(url)
  return {
    ...(tls.insecureSkipVerify === true ? { rejectUnauthorized: false } : trusting(tls.ca)),
    ...(tls.cert === undefined || tls.key === undefined ? {} : { cert: tls.cert, key: tls.key }),
    ...(tls.serverName !== undefined
      ? { servername: tls.serverName }
      : /^[\d.]+$|:/.test(host)
        ? {}
        : { servername: host }),
  }
}
