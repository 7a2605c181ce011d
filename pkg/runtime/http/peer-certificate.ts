import type { DetailedPeerCertificate, TLSSocket } from "node:tls"
import { type Subject, subjectOf } from "../../pki/der/subject.ts"

/**
 * A client's certificate. When the connection began, it was within its time and led to an authority of the listener.
 */
export interface PeerCertificate extends Subject {
  /** DER. */
  readonly raw: Buffer
  /**
   * DER of the further certificates that the client sent, in any order: authorities between its own and one that the
   * server knows.
   */
  readonly intermediates: readonly Buffer[]
}

/** No chain is longer; a client may send what it likes. */
const LONGEST_CHAIN = 10

/** The certificate that a client showed, if TLS has found it good. Anything else counts as none. */
export function verifiedPeer(socket: TLSSocket): PeerCertificate | undefined {
  if (!socket.authorized) return undefined
  const shown = socket.getPeerCertificate(true) as DetailedPeerCertificate | null
  const raw = shown?.raw as Buffer | undefined
  if (shown === null || raw === undefined) return undefined
  const intermediates: Buffer[] = []
  for (
    let last = shown, next = shown.issuerCertificate as DetailedPeerCertificate | undefined;
    next !== undefined && next !== last && intermediates.length < LONGEST_CHAIN;
    last = next, next = next.issuerCertificate as DetailedPeerCertificate | undefined
  )
    intermediates.push(next.raw)
  return { ...subjectOf(raw), raw, intermediates }
}
