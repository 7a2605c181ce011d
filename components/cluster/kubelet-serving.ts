import { hostname } from "node:os"
import { isIP } from "node:net"
import type { ApiServer } from "../apiserver/apiserver.ts"
import type { KubeletServing } from "../kubelet/server/port/kubelet-port.ts"
import { nodeUser } from "./clients.ts"

/**
 * How the kubelet of this machine proves itself on its port: by a certificate of the cluster's authority, for the
 * node's names and addresses, as a kubelet asks for one of the signer kubernetes.io/kubelet-serving.
 */
export function kubeletServing(
  apiServer: Pick<ApiServer, "files">,
  {
    nodeName,
    nodeIps,
    kubeletPort: port,
  }: { readonly nodeName: string; readonly nodeIps: readonly string[]; readonly kubeletPort: number },
): KubeletServing {
  const names = [...new Set([nodeName, hostname(), "localhost"])]
  return {
    host: nodeIps.some((address) => isIP(address) === 6) ? "::" : "0.0.0.0",
    port,
    certificates() {
      const { pki } = apiServer.files!
      const { certPem: cert, keyPem: key } = pki.leaf({
        name: "serving-kubelet",
        authority: "server-ca",
        subject: { commonName: nodeUser(nodeName).name, organizations: ["system:nodes"] },
        dnsNames: names.filter((name) => isIP(name) === 0),
        ipAddresses: [...new Set([...nodeIps, "127.0.0.1", "::1"])],
      })
      return { cert, key, clientCa: pki.authorities["client-ca"].certPem }
    },
  }
}
