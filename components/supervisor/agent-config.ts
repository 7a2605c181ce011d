import { z } from "zod"

/** Paths of the door, which is what the API server's port serves to machines that join. */
export const DOOR = {
  /** The server's authorities as PEM, for anybody. Source of the path: k3s pkg/server/handlers/router.go. */
  authorities: "/cacerts",
  config: "/v1-k3ts/config",
  /** With the kind of the certificate behind it. */
  certificates: "/v1-k3ts/certificates/",
  /** With `/` and the id behind it for a connection that the server has asked for. */
  tunnel: "/v1-k3ts/tunnel",
} as const

/** Headers of a request for a certificate. Source of the names: k3s pkg/nodepassword/validate.go getNodeInfo. */
export const NODE_HEADERS = {
  name: "k3ts-node-name",
  password: "k3ts-node-password",
  /** Addresses with commas between them. */
  addresses: "k3ts-node-ip",
} as const

/** The certificate of the kubelet's own port; all other kinds are certificates of clients. */
export const SERVING = "kubelet-serving"

/** What a node must know of its cluster: the flags of the server that hold for all nodes. */
export const AgentConfig = z.object({
  /** Of pods, one for each family. */
  clusterCidrs: z.array(z.string()).min(1),
  serviceCidrs: z.array(z.string()).min(1),
  clusterDns: z.array(z.string()),
  clusterDomain: z.string(),
  /** How packets of pods reach other nodes: the server's flags --flannel-… */
  betweenNodes: z.object({ backend: z.string(), external: z.boolean(), masqueradesIPv6: z.boolean() }),
  /** Parts that are left out on every node. */
  disabled: z.array(z.string()),
  /** PEM of the authorities whose clients the kubelet knows. */
  clientCa: z.string(),
  /** Kinds of certificates that this node needs. */
  certificates: z.array(z.string().regex(/^[a-z-]{1,40}$/)),
  /** The API servers, as `host:port`. */
  servers: z.array(z.string()),
})
export type AgentConfig = Readonly<z.output<typeof AgentConfig>>
