import { kubeconfigYaml } from "../../../../pkg/pki/kubeconfig.ts"
import type { ApiServer } from "../../../apiserver/apiserver.ts"

/** Where a cluster can be reached from outside of the process. */
export interface Listening {
  readonly url: string
  readonly port: number
  /** The administrator's bearer token. */
  readonly token: string
  readonly kubeconfig: string
}

/** Opens the API on loopback to programs outside. `port` 0 takes a free one. */
export async function listenOn(apiServer: Pick<ApiServer, "listen" | "files">, port: number): Promise<Listening> {
  const open = await apiServer.listen({ host: "127.0.0.1", port })
  const url = `https://127.0.0.1:${open}`
  const { pki, adminToken: token } = apiServer.files!
  const caPem = pki.authorities["server-ca"].certPem
  return {
    url,
    port: open,
    token,
    kubeconfig: kubeconfigYaml({ server: url, caPem, user: { token }, name: "k3ts-testing" }),
  }
}
