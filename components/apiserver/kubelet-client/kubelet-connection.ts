import type { Duplex } from "node:stream"
import { connect } from "node:tls"
import type { CertificatePair } from "../../../pkg/pki/certificate.ts"

export interface KubeletConnectionOptions {
  /** The name that the kubelet's certificate must have. */
  readonly node: string
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
 * Opens an encrypted connection to a kubelet, whose certificate names the node, whatever the address.
 * @throws Error when it cannot be reached or is another
 */
export async function connectToKubelet({
  node,
  dial,
  ca,
  client,
  timeoutMs,
}: KubeletConnectionOptions): Promise<Duplex> {
  const way = await dial()
  return new Promise((resolve, reject) => {
    const socket = connect({
      socket: way,
      servername: node,
      ca,
      cert: client.certPem,
      key: client.keyPem,
      ALPNProtocols: ["http/1.1"],
    })
    const fail = (err: Error) => {
      socket.destroy()
      way.destroy()
      reject(err)
    }
    const onClose = () => fail(new Error("the kubelet closed the connection"))
    socket.setTimeout(timeoutMs, () => fail(new Error("TLS handshake timeout")))
    // The listener stays: errors of an open connection end it, and its reader sees that.
    socket.on("error", fail)
    socket.once("close", onClose)
    socket.once("secureConnect", () => {
      socket.setTimeout(0)
      socket.off("close", onClose)
      resolve(socket)
    })
    way.once("close", () => socket.destroy())
  })
}
