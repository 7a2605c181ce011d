import { BACKEND_PORTS } from "../../../components/containerd/network/backend/backend-names.ts"
import { ETCD_PORTS } from "../../../components/etcd/etcd-config.ts"
import { HEALTHZ_PORT, STATUS_PORT } from "../../../components/kube-proxy/health/ports.ts"
import { KUBELET_PORT } from "../../../pkg/component/node-connector.ts"
import type { OwnPort } from "../../../pkg/component/own-ports.ts"
import { runsEtcd } from "../etcd/flags.ts"
import type { NodeFlags, ServerFlags } from "./server-flags.ts"

/** Returns the ports on which a node's parts always listen: nothing else gets their traffic. */
export function ownPortsOfNode(
  flags: NodeFlags & Pick<ServerFlags, "disable" | "flannel-backend">,
): readonly OwnPort[] {
  const { "kube-proxy-healthz-bind-address": health, "kube-proxy-metrics-bind-address": status } = flags
  const at = (given: typeof health, usual: number) => (given === "none" ? undefined : (given?.port ?? usual))
  const proxies = flags.disable.includes("kube-proxy") ? [] : [at(health, HEALTHZ_PORT), at(status, STATUS_PORT)]
  return [
    ...tcp("the kubelet", flags["kubelet-port"] ?? KUBELET_PORT),
    ...proxies.flatMap((port) => tcp("kube-proxy", port)),
    ...ports("UDP", "the network between nodes", BACKEND_PORTS[flags["flannel-backend"]]),
  ]
}

/** Returns the ports on which a server's control plane always listens. */
export const ownPortsOfControlPlane = (flags: ServerFlags): readonly OwnPort[] => [
  ...tcp("the API server", flags["https-listen-port"]),
  ...(runsEtcd(flags) ? Object.values(ETCD_PORTS).flatMap((port) => tcp("etcd", port)) : []),
]

const tcp = (holder: string, port: number | undefined): readonly OwnPort[] => ports("TCP", holder, port)

/** 0 lets the kernel choose, or turns the port off. */
const ports = (protocol: OwnPort["protocol"], holder: string, port: number | undefined): readonly OwnPort[] =>
  port === undefined || port === 0 ? [] : [{ port, protocol, holder }]
