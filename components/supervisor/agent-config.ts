import { z } from "zod"

/** Paths of the supervisor: the requests of joining machines and of agents, which the API server's port serves too. */
export const SUPERVISOR_PATHS = {
  /** The certificates of the server's CA as PEM, for anybody. Source of the path: k3s pkg/server/handlers/router.go. */
  authorities: "/cacerts",
  config: "/v1-k3ts/config",
  /** What a joining server needs, for those with the token of servers. */
  invitation: "/v1-k3ts/server-bootstrap",
  /** The kind of the wanted certificate is appended. */
  certificates: "/v1-k3ts/certificates/",
  /** `/<id>` is appended for a connection that the server has asked for. */
  tunnel: "/v1-k3ts/tunnel",
} as const

/** Headers of a request for a certificate. Source of the names: k3s pkg/nodepassword/validate.go getNodeInfo. */
export const NODE_HEADERS = {
  name: "k3ts-node-name",
  password: "k3ts-node-password",
  /** The node's addresses, separated by commas. */
  addresses: "k3ts-node-ip",
} as const

/** The kind of the serving certificate of the kubelet's port; all other kinds are client certificates. */
export const SERVING = "kubelet-serving"

/** What a node must know of its cluster: the values of those server flags that hold for all nodes. */
export const AgentConfig = z.object({
  /** CIDRs of the pods, one for each IP family. */
  clusterCidrs: z.array(z.string()).min(1),
  serviceCidrs: z.array(z.string()).min(1),
  clusterDns: z.array(z.string()),
  clusterDomain: z.string(),
  /** How packets of pods reach other nodes: the server's flags --flannel-… */
  betweenNodes: z.object({ backend: z.string(), external: z.boolean(), masqueradesIPv6: z.boolean() }),
  /** Names of the components that --disable leaves out on every node. */
  disabled: z.array(z.string()),
  /** PEM of the CAs whose client certificates the kubelet accepts. */
  clientCa: z.string(),
  /** Kinds of certificates that this node needs. */
  certificates: z.array(z.string().regex(/^[a-z-]{1,40}$/)),
  /** The API servers, as `host:port`. */
  servers: z.array(z.string()),
})
export type AgentConfig = Readonly<z.output<typeof AgentConfig>>
