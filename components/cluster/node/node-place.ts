import type { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import type { Registry } from "../../../pkg/metrics/registry.ts"
import type { KubeletServing } from "../../kubelet/server/port/kubelet-port.ts"
import type { AssembledCluster } from "../assemble.ts"
import type { Clients } from "../clients.ts"
import { kubeletServing, type KubeletNames } from "./kubelet-serving.ts"
import type { OrderedComponent } from "../lifecycle.ts"
import type { EarlyContainerd } from "./node-containerd.ts"
import type { OwnAddresses } from "./own-addresses.ts"
import { controlPlaneRole } from "../node-role.ts"

/** What a node gets from the program that runs it, which is a server or an agent. */
export interface NodePlace {
  readonly clients: Clients
  /** Where the kubelet registers how its pods can be reached. */
  readonly connectors: NodeConnectors
  readonly metrics: Registry
  /** Where the kubelet's API is served; without it no port is opened. */
  readonly serving?: KubeletServing
  /** The containerd of the node where it is started already. */
  readonly early?: EarlyContainerd
  /** Follows the addresses of the machine; absent where they stay as they are. */
  readonly addresses?: OwnAddresses
  /** The components of the program that must be ready before those that need the API. */
  readonly after: readonly string[]
  /** Further components, which only a node of this program has. */
  readonly more: readonly OrderedComponent[]
}

/** Returns the place of a node that runs in the process of a server. */
export function besideControlPlane(
  { apiServer, clients, connectors }: Pick<AssembledCluster, "apiServer" | "clients" | "connectors">,
  names: KubeletNames,
): NodePlace {
  return {
    clients,
    connectors,
    metrics: apiServer.metrics,
    ...(names.kubeletPort === 0 ? {} : { serving: kubeletServing(apiServer, names) }),
    after: [apiServer.name],
    more: [{ component: controlPlaneRole(clients, names.nodeName), after: [apiServer.name] }],
  }
}
