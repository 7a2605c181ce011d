import { writeFile } from "node:fs/promises"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { ServiceCIDR } from "../../pkg/api/networking/v1/servicecidr.ts"
import { FAMILIES, familyOf, type Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { Timer } from "../../pkg/clock/clock.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { Upkeep } from "../../pkg/component/upkeep.ts"
import type { OwnPort } from "../../pkg/component/own-ports.ts"
import { createSeriesRecorder } from "../../pkg/controller/event-series.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import { hostIn, type Host } from "../../pkg/netfilter/host.ts"
import { CLOSE_WAIT_S, CloseWait } from "./close-wait.ts"
import { FamilyProxier } from "./family-proxier.ts"
import { openLocalServers, type ProxyServing } from "./health/local-servers.ts"
import { ProxyHealth } from "./health/proxy-health.ts"
import { chooseMode, cleanUpMode } from "./mode.ts"
import { PROXY_MODES, type ProxyMode } from "./rule-writer.ts"

export interface KubeProxyConfig {
  readonly nodeName: string
  /**
   * The ranges of the cluster's pod addresses, one for each address family. Traffic to a Service from other addresses
   * is masqueraded.
   */
  readonly clusterCidrs: readonly string[]
  /**
   * The ranges of this node's addresses at which node ports are served. A family without a range serves them at all
   * addresses. Source: --nodeport-addresses.
   */
  readonly nodePortCidrs?: readonly string[]
  /** Seconds for which the kernel keeps TCP connections that one side has closed; 0: as long as it does by itself. */
  readonly closeWaitSeconds?: number
  /** Addresses of Services at which this machine itself answers: those of the cluster's DNS. */
  readonly ownAddresses?: readonly string[]
  /** The ports on which parts of this program listen at addresses of this machine. */
  readonly ownPorts?: readonly OwnPort[]
  /** How rules are written; by default nftables if the machine supports it, otherwise iptables. */
  readonly mode?: ProxyMode
  /** Where nft, iptables and conntrack run; the machine itself by default. */
  readonly host?: Host
  /** The registry for the proxy's metrics. */
  readonly metrics?: Registry
  /** Where programs of this machine ask for the proxy's health and metrics; nowhere unless given. */
  readonly serving?: ProxyServing
}

const ROUTE_LOCALNET = "/proc/sys/net/ipv4/conf/all/route_localnet"
/** The delay before another attempt to remove the rules of another mode. */
const RETRY_MS = 1000

/**
 * Keeps the kernel's NAT rules up to date with Services and their endpoints, separately for each address family.
 * Source: pkg/proxy/nftables/proxier.go, pkg/proxy/iptables/proxier.go, pkg/proxy/metaproxier/meta_proxier.go.
 */
export function createKubeProxy(context: ComponentContext, config: KubeProxyConfig): Component {
  const { clock, informers } = context
  const log = context.log.child({ component: "kube-proxy" })
  const { clusterCidrs, nodeName, serving, host = hostIn(), metrics = new Registry() } = config
  const { ownAddresses = [], ownPorts = [] } = config
  const events = createSeriesRecorder(context, "kube-proxy", nodeName)
  let proxiers: readonly FamilyProxier[] = []
  let leaving: Promise<void> | undefined
  let leavingTimer: Timer | undefined
  let isStarted = false
  let stopped = false
  let closeServers: (() => void) | undefined
  const upkeep = new Upkeep({
    clock,
    mend: () => writeFile(ROUTE_LOCALNET, "1"),
    failed: (err) => log.debug("Failed to make node ports reachable on loopback", { err }),
  })
  const closeWait = new CloseWait({ clock, log, seconds: config.closeWaitSeconds ?? CLOSE_WAIT_S })

  /**
   * Removes rules that an earlier start wrote in another mode, or for an address family that the cluster no longer has.
   * This happens after the new rules were written, so that Services are always served.
   */
  async function leaveOthers(mode: ProxyMode): Promise<void> {
    const families = new Set(clusterCidrs.map(familyOf))
    const others = PROXY_MODES.flatMap((each) => FAMILIES.map((family) => ({ mode: each, family }))).filter(
      (other) => other.mode !== mode || !families.has(other.family),
    )
    let isLeft = true
    for (const other of others)
      await cleanUpMode(other.mode, other.family, host).catch((err: unknown) => {
        log.warn("Failed to remove the rules of another mode; will retry", { ...other, err })
        isLeft = false
      })
    if (!isLeft && !stopped) leavingTimer = clock.setTimeout(() => void (leaving = leaveOthers(mode)), RETRY_MS)
  }

  return {
    name: "kube-proxy",
    problem: () =>
      proxiers.map(({ problem }) => problem).find((problem) => problem !== undefined) ??
      (isStarted ? undefined : "not started"),
    async start(signal) {
      await Promise.all([
        informers.of(Service).whenSynced(),
        informers.of(EndpointSlice).whenSynced(),
        informers.of(ServiceCIDR).whenSynced(),
        informers.of(Node).whenSynced(),
      ])
      const mode = await chooseMode(config.mode, clusterCidrs.map(familyOf), host, log)
      signal.throwIfAborted()
      stopped = false
      // Makes node ports reachable on loopback; the rules keep other hosts out. In some containers the setting cannot
      // be written and is left alone.
      if (config.host === undefined) {
        await writeFile(ROUTE_LOCALNET, "1").catch(() => undefined)
        upkeep.start()
      }
      const health = new ProxyHealth(clock)
      if (serving !== undefined) {
        closeServers?.()
        const node = () => informers.of(Node).get(nodeName)
        closeServers = openLocalServers({ serving, mode, health, node, metrics, clock, log })
      }
      proxiers = clusterCidrs.map(
        (clusterCidr) =>
          new FamilyProxier(
            { ...context, log, tracing: context.tracing?.of("kube-proxy") },
            {
              family: familyOf(clusterCidr),
              mode,
              nodeName,
              clusterCidr,
              nodePortCidrs: nodePortCidrsOf(familyOf(clusterCidr), config),
              ownAddresses: ownAddresses.filter((address) => familyOf(address) === familyOf(clusterCidr)),
              ownPorts,
              host,
              metrics,
              events,
              health,
            },
          ),
      )
      await Promise.all(proxiers.map((proxier) => proxier.start()))
      if (config.host === undefined) await closeWait.start()
      isStarted = true
      // As upstream, the reference has no UID.
      const node = { apiVersion: "v1", kind: "Node", metadata: { name: nodeName } }
      events.event(node, "Normal", "Starting", { action: "StartKubeProxy", note: "" })
      leaving = leaveOthers(mode)
    },
    /** The rules stay, so that Services are served while k3ts restarts. */
    async stop() {
      stopped = true
      leavingTimer?.cancel()
      closeServers?.()
      await Promise.all([
        upkeep.stop(),
        closeWait.stop(),
        leaving,
        ...proxiers.map((proxier) => proxier.stop()),
        events.stop(),
      ])
    },
  }
}

/** A range of all addresses is as good as none. */
function nodePortCidrsOf(family: Family, { nodePortCidrs = [] }: KubeProxyConfig): readonly string[] {
  const ranges = nodePortCidrs.filter((cidr) => familyOf(cidr) === family)
  return ranges.some((cidr) => cidr.endsWith("/0")) ? [] : ranges
}
