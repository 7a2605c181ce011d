import { isIP } from "node:net"
import type { Duplex } from "node:stream"
import { connect } from "node:tls"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { CertificatePair } from "../../../pkg/pki/certificate.ts"
import { trustingOnly } from "../../../pkg/pki/trust.ts"
import { subjectOf } from "../../../pkg/pki/der/subject.ts"

export interface KubeletConnectionOptions {
  /** The node whose kubelet it must be, by the user that its certificate names: `system:node:<node>`. */
  readonly node: string
  readonly clock: Pick<Clock, "setTimeout">
  /** Opens the way to the kubelet's port, over which TLS is spoken. */
  readonly dial: () => Promise<Duplex>
  /** PEM of the authority of kubelets' serving certificates. */
  readonly ca: string
  /** The certificate by which the API server is known to kubelets. */
  readonly client: CertificatePair
  /** Milliseconds until the kubelet must have shown its certificate. */
  readonly timeoutMs: number
}

/**
 * Opens an encrypted connection to a kubelet, whose certificate names the node, whatever the address. Differs from
 * upstream: the node is compared with the certificate's subject, and not the address with its alternative names, which
 * are no help with a tunnel, nor for a node whose name has the form of an address.
 * @throws Error when it cannot be reached or is another
 */
export async function connectToKubelet({
  node,
  clock,
  dial,
  ca,
  client,
  timeoutMs,
}: KubeletConnectionOptions): Promise<Duplex> {
  const way = await dial()
  return new Promise((resolve, reject) => {
    const socket = connect({
      socket: way,
      ...(isIP(node) === 0 ? { servername: node } : {}),
      checkServerIdentity: (_host, { raw }) => strangerIn(raw, node),
      ...trustingOnly(ca),
      cert: client.certPem,
      key: client.keyPem,
      ALPNProtocols: ["http/1.1"],
    })
    // Not the socket's own time limit, which ends only silence.
    const timer = clock.setTimeout(() => fail(new Error("TLS handshake timeout")), timeoutMs)
    const fail = (err: Error) => {
      timer.cancel()
      socket.destroy()
      way.destroy()
      reject(err)
    }
    const onClose = () => fail(new Error("the kubelet closed the connection"))
    // The listener stays: errors of an open connection end it, and its reader sees that.
    socket.on("error", fail)
    socket.once("close", onClose)
    socket.once("secureConnect", () => {
      timer.cancel()
      socket.off("close", onClose)
      resolve(socket)
    })
    way.once("close", () => socket.destroy())
  })
}

/** Returns what is wrong with a serving certificate, as DER, that is not the one of a node. */
function strangerIn(raw: Buffer, node: string): Error | undefined {
  const { commonName } = subjectOf(raw)
  return commonName === `system:node:${node}`
    ? undefined
    : new Error(`the kubelet's certificate is that of ${JSON.stringify(commonName)}, not of the node ${node}`)
}
