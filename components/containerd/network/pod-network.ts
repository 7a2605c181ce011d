import { existsSync } from "node:fs"
import { join } from "node:path"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Client } from "../../../pkg/client/client.ts"
import type { Component, ComponentContext } from "../../../pkg/component/component.ts"
import { FAMILIES, familyOf, parseNetwork } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { hasBridge, makeBridge } from "./bridge.ts"
import { BRIDGE, CONFIG_NAME, uplinkMtu, writeCniConfig } from "./cni.ts"
import { allowPodEgress, removePodEgress } from "./egress.ts"
import { Upkeep } from "../../../pkg/component/upkeep.ts"
import { keepBridgeFilter, prepareKernel } from "../kernel.ts"
import type { ContainerdPaths } from "../paths.ts"
import { podLimitProblem } from "./pod-limit.ts"
import type { BackendName } from "./backend/backend-names.ts"
import type { NodeAddressesOptions } from "./backend/node-addresses.ts"

export interface PodNetworkConfig {
  readonly paths: ContainerdPaths
  readonly nodeName: string
  /** The ranges of pod addresses of the whole cluster, one for each address family. */
  readonly clusterCidrs: readonly string[]
  /** A client that acts as this node, the only user that may write to its Node. */
  readonly node: Client
  readonly betweenNodes: BetweenNodes
  /** See KubeletConfig. */
  readonly maxPods: number
}

/** How pods of several nodes reach each other. */
export interface BetweenNodes extends NodeAddressesOptions {
  readonly backend: BackendName
  /** Whether packets of IPv6 that leave the cluster get the node's address: --flannel-ipv6-masq. */
  readonly masqueradesIPv6: boolean
}

/**
 * Writes the network's configuration for the ranges that were allocated to this node, and lets pods reach hosts outside
 * of the cluster. The code that connects nodes is loaded when the second node joins.
 */
export function createPodNetwork(context: ComponentContext, config: PodNetworkConfig): Component {
  const { informers, log } = context
  const { paths, nodeName, clusterCidrs, betweenNodes, maxPods } = config
  let unsubscribe = (): void => undefined
  /** The largest packet between nodes in bytes, while there are others. */
  let routeMtu: number | undefined
  let others: Promise<Component> | undefined
  let seenRanges = ""
  /** What was last said about `maxPods`. */
  let toldProblem: string | undefined
  const stopping = new AbortController()
  const families = clusterCidrs.map(familyOf)
  const upkeep = new Upkeep({
    clock: context.clock,
    mend: () => mend(),
    failed: (err) => log.warn("Failed to repair the pod network; will retry", { err }),
  })

  const allowEgress = () =>
    clusterCidrs.map((cidr) => allowPodEgress(cidr, familyOf(cidr) === "IPv4" || betweenNodes.masqueradesIPv6))

  /** Sets what lets pods reach each other and the world, where another program has changed it. */
  async function mend(): Promise<void> {
    // Together, so that one that fails keeps no other from being done.
    await Promise.all([mendBridge(), ...allowEgress(), (async () => keepBridgeFilter(families))()])
  }

  /** Without a bridge there is nothing to repair, and its code is not loaded: the first pod creates the bridge. */
  async function mendBridge(): Promise<void> {
    const { podCIDRs = [] } = informers.of(Node).get(nodeName)?.spec ?? {}
    const ranges = podCIDRs.flatMap((cidr) => parseNetwork(cidr) ?? [])
    if (ranges.length === 0 || !hasBridge()) return
    const { repairBridge } = await import("./plugin/repair-bridge.ts")
    await repairBridge(BRIDGE, ranges)
  }

  function configure(): void {
    const { podCIDRs = [] } = informers.of(Node).get(nodeName)?.spec ?? {}
    if (podCIDRs.length === 0) return
    warnOfPodLimit(podCIDRs)
    try {
      writeCniConfig(paths, { podCidrs: podCIDRs, mtu: uplinkMtu(), routeMtu })
    } catch (err) {
      log.error("Failed to write the configuration of the pod network", { path: paths.cniConfig, err })
    }
  }

  /** An earlier start, or the node's earlier name, may have left the bridge in another state. */
  function mendSoon(): void {
    context.spawn("repair of the pods' bridge", async () => {
      await mendBridge().catch((err: unknown) => log.warn("Failed to repair the pod network; will retry", { err }))
    })
  }

  function warnOfPodLimit(ranges: readonly string[]): void {
    const problem = podLimitProblem(maxPods, ranges)
    if (problem !== undefined && problem !== toldProblem)
      log.warn("The node accepts more pods than can start", { maxPods, problem })
    toldProblem = problem
  }

  async function reachOthers(name: Exclude<BackendName, "none">): Promise<Component> {
    const [{ createOtherNodes }, { backendOf }] = await Promise.all([
      import("./backend/other-nodes.ts"),
      import("./backend/backends.ts"),
    ])
    const component = createOtherNodes(context, {
      nodeName,
      node: config.node,
      backend: backendOf(name, { keyFile: paths.wireguardKey }),
      addressing: betweenNodes,
      measured(mtu) {
        if (routeMtu === mtu) return
        routeMtu = mtu
        configure()
      },
    })
    await component.start(stopping.signal)
    return component
  }

  function see({ metadata, spec }: Node): void {
    if (metadata.name === nodeName) {
      const ranges = (spec.podCIDRs ?? []).join()
      if (ranges !== "" && ranges !== seenRanges) mendSoon()
      seenRanges = ranges
      return configure()
    }
    const { backend } = betweenNodes
    if (others !== undefined || backend === "none") return
    context.spawn("other nodes", async () => void (await (others = reachOthers(backend))), stopping.signal)
  }

  return {
    name: "pod-network",
    async start() {
      await Promise.all([
        prepareKernel(families, log),
        families.includes("IPv6") ? makeBridge() : undefined,
        ...allowEgress(),
        // An earlier start may have used both address families.
        removePodEgress(FAMILIES.filter((family) => !families.includes(family))),
      ])
      unsubscribe = informers.of(Node).on({ added: see, updated: see })
      upkeep.start()
    },
    /** The rules and the routes to other nodes stay, since pods keep running. */
    async stop() {
      unsubscribe()
      await upkeep.stop()
      stopping.abort()
      const starting = others
      others = undefined
      const started = await starting?.catch(() => undefined) // `spawn` has logged the reason
      await started?.stop()
    },
  }
}

/**
 * Writes a configuration before this node's ranges are known, so that containerd finds a network when it starts and the
 * first pod need not wait for one. `firstRanges` are those of the only node of a new cluster; if the node gets others,
 * they are written before a pod can be bound here.
 */
export function presumeNetwork(paths: ContainerdPaths, firstRanges: readonly string[]): void {
  if (!existsSync(join(paths.cniConfig, CONFIG_NAME)))
    writeCniConfig(paths, { podCidrs: firstRanges, mtu: uplinkMtu() })
}
