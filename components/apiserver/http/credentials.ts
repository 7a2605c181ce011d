import { peerCertificate } from "../../../pkg/runtime/http/listen.ts"
import type { ServerRequest } from "../../../pkg/runtime/http/server-request.ts"
import { isWebSocket } from "../../../pkg/streaming/upgrade.ts"
import type { Credentials } from "../authentication/authenticator.ts"
import type { Exchange } from "../call/exchange.ts"
import { headerText } from "../call/header-text.ts"
import type { RequestInfo } from "../call/request-info.ts"

/**
 * Returns the credentials of a request. Headers that may come several times are read from the raw headers, which keep
 * them apart.
 */
export function credentialsOf({ req, upgrade, annotate, warn }: Exchange, { path }: RequestInfo): Credentials {
  return {
    certificate: peerCertificate(req),
    authorization: req.headers.authorization,
    isWebSocket: upgrade !== undefined && isWebSocket(req),
    path,
    header: (name) => {
      const values: string[] = []
      for (let i = 0; i < req.rawHeaders.length; i += 2)
        if (req.rawHeaders[i]!.toLowerCase() === name) values.push(headerText(req.rawHeaders[i + 1]!))
      return values
    },
    headerNames: () => Object.keys(req.headers),
    annotate,
    warn,
  }
}

/** Whether a header of the request asks for the rights of another user. */
export function isImpersonating({ headers }: ServerRequest): boolean {
  for (const name in headers) if (name.startsWith("impersonate-")) return true
  return false
}
