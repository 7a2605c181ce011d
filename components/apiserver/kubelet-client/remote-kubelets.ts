import { connect } from "node:net"
import type { Duplex } from "node:stream"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { joinHostPort } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { NodeConnector } from "../../../pkg/component/node-connector.ts"
import type { ObjectReader } from "../cacher/objects.ts"
import { addressOf, proxyableAddress } from "../proxy/proxy-target.ts"
import type { CertificateIn, ServingFiles } from "../serving/serving.ts"
import { connectToKubelet } from "./kubelet-connection.ts"
import { kubeletClient } from "./kubelet-client.ts"

/** Opens a way to the kubelet of a node. */
export type KubeletDialer = () => Promise<Duplex>

export interface RemoteKubeletsOptions {
  readonly objects: ObjectReader
  readonly clock: Pick<Clock, "setTimeout">
  readonly files: () => ServingFiles
  readonly certificate: CertificateIn
  /** Returns the way through the tunnel that an agent has opened; undefined where it has opened none. */
  readonly tunnelTo: (node: string) => KubeletDialer | undefined
}

/** Upstream's limits: kubelet client's HTTP timeout of connecting, and of the TLS handshake. Source: client-go transport. */
const CONNECT_MS = 10_000

/**
 * Returns the connectors of kubelets on other machines: through their agent's tunnel where there is one, else to the
 * node's address and the port that the node reports. Undefined for a node that reports no port either.
 */
export function remoteKubelets({
  objects,
  clock,
  files,
  certificate,
  tunnelTo,
}: RemoteKubeletsOptions): (name: string) => NodeConnector | undefined {
  return (name) => {
    const tunnel = tunnelTo(name)
    const node = objects.get(Node, { name })
    const port = node?.status.daemonEndpoints?.kubeletEndpoint?.Port ?? 0
    if (node === undefined || (tunnel === undefined && port === 0)) return undefined
    const address = joinHostPort(addressOf(node), port)
    const dial = tunnel ?? (async () => dialTcp(await proxyableAddress(addressOf(node)), port))
    return kubeletClient({
      address,
      clock,
      connect: () => {
        const now = files()
        return connectToKubelet({
          node: name,
          clock,
          dial,
          ca: now.pki.authorities["server-ca"].certPem,
          client: certificate(now),
          timeoutMs: CONNECT_MS,
        })
      },
    })
  }
}

function dialTcp(host: string, port: number): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: CONNECT_MS })
    socket.once("timeout", () => socket.destroy(Object.assign(new Error("i/o timeout"), { code: "ETIMEDOUT" })))
    socket.once("error", reject)
    socket.once("connect", () => {
      socket.off("error", reject)
      socket.setTimeout(0)
      socket.setNoDelay(true)
      resolve(socket)
    })
  })
}
