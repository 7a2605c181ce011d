import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import type { ServerList } from "../../pkg/client/server-list.ts"
import type { Timer } from "../../pkg/clock/clock.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import type { Membership } from "../supervisor/agent/membership.ts"
import { serversIn } from "../supervisor/servers-in.ts"
import type { TunnelAgents } from "../supervisor/tunnel/tunnel-agent.ts"
import type { OwnAddresses } from "./node/own-addresses.ts"

/** How often the certificates are checked, and how long to wait after a failed refresh, in milliseconds. */
const LOOK_MS = 12 * 3_600_000
const RETRY_MS = 30_000

export interface StayingOptions {
  readonly membership: Membership
  readonly servers: ServerList
  /** Whether no server answered at the start, so that the configuration and certificates may be out of date. */
  readonly isUninformed: boolean
  readonly tunnels: TunnelAgents
  /** Follows the addresses of the machine; absent where they are given. */
  readonly addresses?: OwnAddresses
  /** Ends all connections to servers, and has what waits for a server ask again. */
  reconnect(): void
  /** Called when certificates are new. */
  renewed(): void
  /** Has `listener` called whenever a server does not take the certificates. */
  onRefused(listener: () => void): void
  /** Has `listener` called whenever a server is back, as after its restart. */
  onReturned(listener: () => void): void
  stopped(): void
}

/**
 * Keeps a machine a member of the cluster: follows where the servers are and what addresses the machine has, renews
 * certificates, and joins again where the Node has been deleted.
 */
export function staying(
  { informers, clock, log, spawn }: ComponentContext,
  {
    membership,
    servers,
    tunnels,
    addresses,
    isUninformed,
    reconnect,
    renewed,
    onRefused,
    onReturned,
    stopped,
  }: StayingOptions,
): Component {
  let unsubscribe = (): void => undefined
  let stopFollowing = (): void => undefined
  let timer: Timer | undefined
  let isStopped = false
  let refreshing = false
  /** Before this time on the monotonic clock no server is asked again, however often the certificates are refused. */
  let notBefore = -Infinity
  const refreshAfter = (ms: number): void => {
    timer?.cancel()
    timer = clock.setTimeout(() => spawn("membership", refresh), ms, "upkeep")
  }
  const soon = (): void => {
    if (!refreshing && !isStopped) refreshAfter(Math.max(0, notBefore - clock.monotonic()))
  }
  async function refresh(): Promise<void> {
    refreshing = true
    notBefore = clock.monotonic() + RETRY_MS
    const before = membership.shape
    let wait = LOOK_MS
    try {
      if (await membership.refresh(servers.current)) renewed()
      if (membership.shape !== before)
        log.warn("The configuration of the cluster has changed: restart this agent to follow it")
    } catch (err) {
      wait = RETRY_MS
      log.warn("Cannot refresh the certificates and the configuration of this node; will retry", { err, waitMs: wait })
    }
    refreshing = false
    if (!isStopped) refreshAfter(wait)
  }
  /** Connections from an address that is gone would be silent until the kernel gives them up. */
  const moved = (): void => {
    reconnect()
    const known = membership.remembered!.config.servers.map((server) => `https://${server}`)
    tunnels.stop()
    tunnels.follow(known)
    soon() // the serving certificate of the kubelet names its addresses
  }
  const follow = (slice: EndpointSlice): void => {
    if (slice.metadata.namespace !== "default") return
    const found = serversIn(slice)
    if (found.length === 0) return
    const known = found.map((server) => `https://${server}`)
    servers.set(known)
    tunnels.follow(known)
    membership.rememberServers(found)
  }
  return {
    name: "agent",
    start() {
      unsubscribe = informers.of(EndpointSlice).on({ added: follow, updated: follow })
      tunnels.follow(membership.remembered!.config.servers.map((server) => `https://${server}`))
      refreshAfter(isUninformed ? RETRY_MS : LOOK_MS)
      onRefused(soon)
      // An administrator may have given the cluster new authorities while the server was stopped.
      onReturned(soon)
      stopFollowing = addresses?.onChange(moved) ?? stopFollowing
      addresses?.start()
      return Promise.resolve()
    },
    stop() {
      isStopped = true
      unsubscribe()
      stopFollowing()
      addresses?.stop()
      timer?.cancel()
      tunnels.stop()
      stopped()
      return Promise.resolve()
    },
  }
}
