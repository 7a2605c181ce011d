import type { DetailedPeerCertificate, TLSSocket } from "node:tls"
import { type Subject, subjectOf } from "../../pki/der/subject.ts"

/**
 * A client's certificate. When the connection began, it was in its validity period and signed, directly or through
 * intermediates, by an authority of the listener.
 */
export interface PeerCertificate extends Subject {
  /** The certificate as DER. */
  readonly raw: Buffer
  /** The further certificates that the client sent, as DER, in any order: intermediate authorities. */
  readonly intermediates: readonly Buffer[]
}

/** Longer chains are refused, since a client may send any number of certificates. */
const LONGEST_CHAIN = 10

/** Returns the certificate that a client sent, if TLS has verified it; undefined otherwise. */
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
