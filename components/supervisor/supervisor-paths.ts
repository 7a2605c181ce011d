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
