/** The supervisor of a server, behind TLS, with the authorities and the token that it takes. */
import { startCluster, type Cluster } from "../cluster/testing/testing.ts"
import { Lease } from "../../pkg/api/coordination/v1/lease.ts"
import {
  SERVER_LEASE_LABELS,
  SERVER_LEASE_NAMESPACE,
  servingAnnotations,
} from "../../pkg/api/coordination/v1/server-lease.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import { systemRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { silent } from "../../pkg/log/log.ts"
import { openClusterPki } from "../../pkg/pki/cluster-pki.ts"
import { listenTls, type Listener } from "../../pkg/runtime/http/listen.ts"
import { formatJoinToken } from "./join-token.ts"
import { createSupervisor, type RequestNotes } from "./supervisor.ts"
import { SERVING } from "./supervisor-paths.ts"
import { Tunnels } from "./tunnel/tunnels.ts"

export const PASSWORD = "0123456789abcdef0123456789abcdef"
export const pki = openClusterPki({ now: () => realClock.now() })
/** What the certificate of an API server is for. */
export const API_SERVER = {
  authority: "server-ca",
  subject: { commonName: "kube-apiserver", organizations: [] },
  dnsNames: ["kubernetes"],
  ipAddresses: ["127.0.0.1", "192.0.2.1"],
} as const
export const serving = pki.issue({ name: "serving", ...API_SERVER })
export const token = formatJoinToken(pki.authorities["server-ca"].certPem, { user: "node", password: PASSWORD })

/** Starts a cluster in which another API server is known, by its addresses and names. */
export async function clusterWithAnotherServer(): Promise<Cluster> {
  const cluster = await startCluster({ clock: "real", components: { controllers: false } })
  const kubernetes = { namespace: "default", name: "kubernetes" }
  await cluster.client.delete(EndpointSlice, kubernetes)
  await cluster.client.create(EndpointSlice, {
    metadata: { ...kubernetes, labels: { "kubernetes.io/service-name": "kubernetes" } },
    addressType: "IPv6",
    endpoints: [{ addresses: ["2001:db8::2"] }],
    ports: [{ name: "https", port: 6443 }],
  })
  await cluster.client.create(Lease, {
    metadata: {
      namespace: SERVER_LEASE_NAMESPACE,
      name: "apiserver-other",
      labels: SERVER_LEASE_LABELS,
      annotations: servingAnnotations(["other-server", "192.0.2.99"]),
    },
    spec: { holderIdentity: "2001:db8::2" },
  })
  return cluster
}

/** Adds to `noted` a list for a request, and to that what the audit log is told of the request. */
function notesInto(noted: string[][]): RequestNotes {
  const ofRequest: string[] = []
  noted.push(ofRequest)
  const note = (text: string) => void ofRequest.push(text)
  return {
    sender: ({ name }) => note(`sender ${name}`),
    annotate: (key, value) => note(`${key} ${value}`),
    refused: ({ reason }) => note(`refused ${reason}`),
    upgraded: () => note("upgraded"),
  }
}

/** Starts a supervisor on loopback. It verifies a token when `held` has ended. */
export function listenAsSupervisor(
  cluster: Cluster,
  clock: Clock,
  held: () => Promise<void> | undefined,
  noted: string[][],
): Promise<Listener> {
  const notes = () => notesInto(noted)
  const supervisor = createSupervisor({
    invite: undefined,
    clock,
    random: systemRandom,
    log: silent,
    client: cluster.contextFor("system:k3ts-supervisor", []).client,
    tokens: {
      async verify(shown) {
        await held()
        return "user" in shown && shown.user === "node" && shown.password === PASSWORD ? "agent" : undefined
      },
    },
    files: () => ({ pki, serving }),
    tunnels: new Tunnels({ clock, random: systemRandom }),
    config: {
      clusterCidrs: ["10.42.0.0/16"],
      serviceCidrs: ["10.43.0.0/16"],
      clusterDns: ["10.43.0.10"],
      clusterDomain: "cluster.local",
      betweenNodes: { backend: "vxlan", external: false, masqueradesIPv6: true },
      disabled: [],
      certificates: ["kubelet", "kube-proxy", SERVING],
    },
    subjectOf: (kind, node) =>
      kind === "kubelet"
        ? { commonName: `system:node:${node}`, organizations: ["system:nodes"] }
        : kind === "kube-proxy"
          ? { commonName: "system:kube-proxy", organizations: [] }
          : undefined,
  })
  return listenTls({
    host: "127.0.0.1",
    port: 0,
    cert: serving.certPem,
    key: serving.keyPem,
    clientCa: pki.authorities["client-ca"].certPem,
    onRequest: (req, res) => supervisor.onRequest(req, res, notes()),
    onUpgrade: (req, socket, head) => supervisor.onUpgrade(req, socket, head, notes()),
  })
}
