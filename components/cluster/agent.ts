/**
 * What an agent has instead of a control plane: clients of the API servers over HTTPS, with a certificate for each
 * component, and the component that keeps the machine a member of the cluster.
 */
import { userAgentOf } from "../../pkg/client/agent-of.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"
import { createFailoverTransport, type FailoverTransport } from "../../pkg/client/failover.ts"
import { createHttpsSender } from "../../pkg/client/https.ts"
import { ServerList } from "../../pkg/client/server-list.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import { NodeConnectors } from "../../pkg/component/node-connector.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import { registerProcessMetrics } from "../../pkg/metrics/process.ts"
import { SUPERVISOR_PATHS, SERVING } from "../supervisor/supervisor-paths.ts"
import { askSupervisor, SERVER_NAME, upgradeAtSupervisor } from "../supervisor/agent/ask-supervisor.ts"
import type { Membership } from "../supervisor/agent/membership.ts"
import { TUNNEL_PROTOCOL } from "../supervisor/tunnel/protocol.ts"
import { TunnelAgent, TunnelAgents } from "../supervisor/tunnel/tunnel-agent.ts"
import { AGENT_IDENTITIES, kindOf } from "./agent-identities.ts"
import { Clients, type Tools } from "./clients.ts"
import { listenHost, type KubeletNames } from "./node/kubelet-serving.ts"
import type { EarlyContainerd } from "./node/node-containerd.ts"
import type { NodePlace } from "./node/node-place.ts"
import type { OwnAddresses } from "./node/own-addresses.ts"
import { Part } from "./part.ts"
import { staying } from "./staying.ts"

export interface AgentOptions {
  readonly membership: Membership
  readonly servers: ServerList
  /** Whether no server answered at the start, so that the agent's configuration and certificates may be out of date. */
  readonly isUninformed: boolean
  readonly names: KubeletNames
  /** The containerd of the node where it is started already. */
  readonly early?: EarlyContainerd
  /** Follows the addresses of the machine; absent where they are given. */
  readonly addresses?: OwnAddresses
}

/** How long a connection is silent before the kernel sends a keep-alive probe, in milliseconds. */
const KEEP_ALIVE_MS = 1000

/** Returns a list of the cluster's servers, which at first has only the address of --server. */
export const serverList = (given: string, clock: Clock): ServerList =>
  new ServerList(
    given,
    async (server, timeoutMs) =>
      void (await askSupervisor({ clock, server, method: "GET", path: SUPERVISOR_PATHS.authorities, timeoutMs })),
  )

/** Returns the place of a node on a machine without a control plane. */
export function besideServers(
  tools: Tools,
  { membership, servers, isUninformed, names, early, addresses }: AgentOptions,
): NodePlace {
  const { clock } = tools
  const transports = new Map<string, FailoverTransport>()
  let refused = (): void => undefined
  let returned = (): void => undefined
  const servingListeners = new Set<() => void>()
  const reconnect = (): void => {
    transports.forEach((transport) => transport.reconnect())
    clients.retryNow()
  }
  const transportOf = (kind: string, userAgent: string): FailoverTransport =>
    createFailoverTransport({
      servers,
      clock,
      unauthorized: () => refused(),
      connect(server) {
        const { certPem: cert, keyPem: key } = membership.certificate(kind)
        const { serverCa: ca } = membership.remembered!
        const config = { server, ca, certificate: { cert, key }, tlsServerName: SERVER_NAME }
        return createHttpsSender({ config, userAgent, keepAliveMs: KEEP_ALIVE_MS })
      },
    })
  const clients = new Clients(tools, ({ name, agent }) => {
    const kind = kindOf(name, names.nodeName)
    let transport = transports.get(kind)
    if (transport === undefined) transports.set(kind, (transport = transportOf(kind, userAgentOf({ name, agent }))))
    return transport
  })
  const stopListening = servers.onReturned(() => clients.retryNow())
  let { kubeletPort } = names
  const startTunnel = (server: string): TunnelAgent => {
    const { random, log, spawn } = tools
    const tunnel = new TunnelAgent({
      server,
      clock,
      random,
      log,
      kubeletPort: () => kubeletPort,
      reopened: () => returned(),
      upgrade(path, signal) {
        const { certPem: cert, keyPem: key } = membership.certificate("kubelet")
        const { serverCa: ca } = membership.remembered!
        return upgradeAtSupervisor({
          clock,
          server,
          ca,
          certificate: { cert, key },
          path,
          protocol: TUNNEL_PROTOCOL,
          signal,
        })
      },
    })
    spawn(`tunnel to ${server}`, () => tunnel.run())
    return tunnel
  }
  const agent = new Part({
    name: "agent",
    clients,
    user: AGENT_IDENTITIES["agent"]!(names.nodeName),
    following: { fieldSelectors: new Map([[EndpointSlice as Resource, "metadata.name=kubernetes"]]) },
    create: (context) =>
      staying(context, {
        membership,
        servers,
        isUninformed,
        tunnels: new TunnelAgents(startTunnel),
        reconnect,
        renewed() {
          reconnect()
          servingListeners.forEach((listener) => listener())
        },
        ...(addresses === undefined ? {} : { addresses }),
        onRefused: (listener) => (refused = listener),
        onReturned: (listener) => (returned = listener),
        stopped() {
          stopListening()
          transports.forEach((transport) => transport.close())
        },
      }),
  })
  const metrics = new Registry()
  registerProcessMetrics(metrics, clock.now())
  return {
    clients,
    connectors: new NodeConnectors(),
    metrics,
    serving: {
      // Port 0 says that other programs must not reach the kubelet: it then listens on loopback, for the tunnel only.
      host: names.kubeletPort === 0 ? "127.0.0.1" : listenHost(names.nodeIps),
      port: names.kubeletPort,
      certificates() {
        const { certPem: cert, keyPem: key } = membership.certificate(SERVING)
        return { cert, key, clientCa: membership.remembered!.config.clientCa }
      },
      onPort: (port) => (kubeletPort = port),
      onRenewed(listener) {
        servingListeners.add(listener)
        return () => void servingListeners.delete(listener)
      },
    },
    ...(early === undefined ? {} : { early }),
    ...(addresses === undefined ? {} : { addresses }),
    // The kubelet and the other components do not wait for a server, so that the pods of this node keep running.
    after: [],
    more: [{ component: agent, after: [] }],
  }
}
