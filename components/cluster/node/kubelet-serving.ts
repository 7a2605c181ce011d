import { hostname } from "node:os"
import { isIP } from "node:net"
import { chainOf } from "../../../pkg/pki/cluster-pki.ts"
import type { ApiServer } from "../../apiserver/apiserver.ts"
import type { KubeletServing } from "../../kubelet/server/port/kubelet-port.ts"
import { nodeUser } from "../clients.ts"

/** The names and addresses of a node's kubelet. */
export interface KubeletNames {
  readonly nodeName: string
  readonly nodeIps: readonly string[]
  readonly kubeletPort: number
}

/**
 * Returns the serving certificate of this machine's kubelet: signed by the cluster's CA for the node's names and
 * addresses, like those of the signer kubernetes.io/kubelet-serving.
 */
export function kubeletServing(
  apiServer: Pick<ApiServer, "files">,
  { nodeName, nodeIps, kubeletPort: port }: KubeletNames,
): KubeletServing {
  const names = [...new Set([nodeName, hostname(), "localhost"])]
  return {
    host: listenHost(nodeIps),
    port,
    certificates() {
      const { pki } = apiServer.files!
      const leaf = pki.leaf({
        name: "serving-kubelet",
        authority: "server-ca",
        subject: { commonName: nodeUser(nodeName).name, organizations: ["system:nodes"] },
        dnsNames: names.filter((name) => isIP(name) === 0),
        ipAddresses: [...new Set([...nodeIps, "127.0.0.1", "::1"])],
      })
      const cert = chainOf(leaf.certPem, pki.authorities["server-ca"])
      return { cert, key: leaf.keyPem, clientCa: pki.authorities["client-ca"].certPem }
    },
  }
}

/** Returns the address on which the kubelet of a node listens: all of the machine's. */
export const listenHost = (nodeIps: readonly string[]): string =>
  nodeIps.some((address) => isIP(address) === 6) ? "::" : "0.0.0.0"
