import { writeFile } from "node:fs/promises"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { ServiceCIDR } from "../../pkg/api/networking/v1/servicecidr.ts"
import { FAMILIES, familyOf } from "../../pkg/apimachinery/cidr.ts"
import type { Timer } from "../../pkg/clock/clock.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import { hostIn, type Host } from "../../pkg/netfilter/host.ts"
import { FamilyProxier } from "./family-proxier.ts"
import { chooseMode, cleanUpMode } from "./mode.ts"
import { PROXY_MODES, type ProxyMode } from "./rule-writer.ts"

export interface KubeProxyConfig {
  readonly nodeName: string
  /**
   * Pod addresses of the whole cluster, one range of each family that is served: what comes from elsewhere and enters a
   * Service is masqueraded.
   */
  readonly clusterCidrs: readonly string[]
  /** By what rules are written; unless given nftables where the machine allows it, and iptables where not. */
  readonly mode?: ProxyMode
  /** Where nft, iptables and conntrack act; the machine itself unless given. */
  readonly host?: Host
  /** The program's metrics, for what the proxy tells of itself. */
  readonly metrics?: Registry
}

/** Wait before rules of another mode are tried to be removed again. */
const RETRY_MS = 1000

/**
 * Keeps the kernel's NAT rules in step with Services and their endpoints, each family of the cluster by itself. Source:
 * pkg/proxy/nftables/proxier.go, pkg/proxy/iptables/proxier.go, pkg/proxy/metaproxier/meta_proxier.go.
 */
export function createKubeProxy(context: ComponentContext, config: KubeProxyConfig): Component {
  const { clock, informers } = context
  const log = context.log.child({ component: "kube-proxy" })
  const { clusterCidrs, nodeName, host = hostIn(), metrics = new Registry() } = config
  let proxiers: readonly FamilyProxier[] = []
  let leaving: Promise<void> | undefined
  let leavingTimer: Timer | undefined
  let isStarted = false
  let stopped = false

  /**
   * Rules that an earlier start wrote in another mode, or for a family that is no more of the cluster, go once ours are
   * there, so that Services are always served.
   */
  async function leaveOthers(mode: ProxyMode): Promise<void> {
    const families = new Set(clusterCidrs.map(familyOf))
    const others = PROXY_MODES.flatMap((each) => FAMILIES.map((family) => ({ mode: each, family }))).filter(
      (other) => other.mode !== mode || !families.has(other.family),
    )
    let isLeft = true
    for (const other of others)
      await cleanUpMode(other.mode, other.family, host).catch((err: unknown) => {
        log.warn("Cannot remove the rules of another mode; will retry", { ...other, err })
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
      // Lets node ports answer on loopback; the rules keep others out. Not writable in some containers, where it is
      // then left alone.
      if (config.host === undefined)
        await writeFile("/proc/sys/net/ipv4/conf/all/route_localnet", "1").catch(() => undefined)
      proxiers = clusterCidrs.map(
        (clusterCidr) =>
          new FamilyProxier(
            { ...context, log },
            { family: familyOf(clusterCidr), mode, nodeName, clusterCidr, host, metrics },
          ),
      )
      await Promise.all(proxiers.map((proxier) => proxier.start()))
      isStarted = true
      leaving = leaveOthers(mode)
    },
    /** Rules stay, so that traffic goes on while k3ts restarts. */
    async stop() {
      stopped = true
      leavingTimer?.cancel()
      await Promise.all([leaving, ...proxiers.map((proxier) => proxier.stop())])
    },
  }
}
