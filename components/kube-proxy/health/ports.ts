/** The usual ports of kube-proxy's health, and of its metrics and state. Source: pkg/cluster/ports/ports.go. */
export const HEALTHZ_PORT = 10_256
export const STATUS_PORT = 10_249
