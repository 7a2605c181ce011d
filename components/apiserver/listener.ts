import { chainOf } from "../../pkg/pki/cluster-pki.ts"
import { answer, listenTls, type Certificates, type Listener } from "../../pkg/runtime/http/listen.ts"
import type { CertificateChoice } from "../../pkg/runtime/http/certificate-choice.ts"
import type { ConnectionLimits } from "../../pkg/runtime/http/connections.ts"
import type { TlsProfile } from "../../pkg/runtime/http/tls-profile.ts"
import type { Server } from "./server.ts"
import type { BesideApi } from "./serving/beside.ts"
import { clientAuthorities, together, type ServingFiles } from "./serving/serving.ts"

/** The address and port to listen on; port 0 takes a free one. */
export interface ListenAt {
  readonly host: string
  readonly port: number
}

/** The certificate of the listener, and the authorities whose client certificates it accepts. */
export const certificatesOf = (files: ServingFiles): Certificates => {
  const { serving, pki, further } = files
  return {
    cert: chainOf(serving.certPem, pki.authorities["server-ca"]),
    key: serving.keyPem,
    clientCa: together(
      clientAuthorities(files),
      pki.authorities["request-header-ca"].certPem,
      further?.frontProxy?.caPem,
    ),
  }
}

/** What the listener demands of connections; the usual limits and versions of TLS unless given. */
export interface Demands {
  readonly connectionLimits?: Partial<ConnectionLimits>
  readonly tlsProfile?: TlsProfile | undefined
}

/** Who serves requests; the server is set once it has started. */
export interface Serving {
  readonly server?: Server
  readonly beside?: BesideApi | undefined
}

/**
 * Listens over TLS; undefined where there is nowhere to listen. Until `serving.server` is set, requests are answered
 * with 503 and Retry-After.
 */
export async function listenOn(
  listen: ListenAt | undefined,
  { connectionLimits: limits, tlsProfile }: Demands,
  files: ServingFiles,
  serving: Serving,
  choice: CertificateChoice | undefined,
): Promise<Listener | undefined> {
  if (listen === undefined) return undefined
  return listenTls({
    ...listen,
    ...(limits === undefined ? {} : { limits }),
    ...certificatesOf(files),
    tlsProfile,
    choice,
    onRequest(req, res) {
      const { server, beside } = serving
      if (server !== undefined) (beside?.serves(req.url ?? "", false) === true ? beside : server).onRequest(req, res)
      else
        answer(
          res,
          503,
          { "Content-Type": "text/plain; charset=utf-8", "Retry-After": "1" },
          "the API server is starting\n",
        )
    },
    onUpgrade(req, socket, head) {
      const { server, beside } = serving
      if (server === undefined) socket.destroy()
      else (beside?.serves(req.url ?? "", true) === true ? beside : server).onUpgrade(req, socket, head)
    },
  })
}
