import { existsSync } from "node:fs"
import { join } from "node:path"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Component, ComponentContext } from "../../../pkg/component/component.ts"
import { FAMILIES, familyOf } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { makeBridge } from "./bridge.ts"
import { CONFIG_NAME, uplinkMtu, writeCniConfig } from "./cni.ts"
import { allowPodEgress, removePodEgress } from "./egress.ts"
import { prepareKernel } from "../kernel.ts"
import type { ContainerdPaths } from "../paths.ts"

export interface PodNetworkConfig {
  readonly paths: ContainerdPaths
  readonly nodeName: string
  /** The ranges of pod addresses of the whole cluster, one for each address family. */
  readonly clusterCidrs: readonly string[]
}

/**
 * Writes the network's configuration for the ranges that were allocated to this node, and lets pods reach the world.
 */
export function createPodNetwork(
  { informers, log }: ComponentContext,
  { paths, nodeName, clusterCidrs }: PodNetworkConfig,
): Component {
  let unsubscribe = (): void => undefined
  const configure = ({ metadata, spec }: Node): void => {
    const { podCIDRs = [] } = spec
    if (metadata.name !== nodeName || podCIDRs.length === 0) return
    try {
      writeCniConfig(paths, { podCidrs: podCIDRs, mtu: uplinkMtu() })
    } catch (err) {
      log.error("Failed to write the configuration of the pod network", { path: paths.cniConfig, err })
    }
  }
  return {
    name: "pod-network",
    async start() {
      const families = clusterCidrs.map(familyOf)
      await Promise.all([
        prepareKernel(families, log),
        families.includes("IPv6") ? makeBridge() : undefined,
        ...clusterCidrs.map(allowPodEgress),
        // An earlier start may have used both address families.
        removePodEgress(FAMILIES.filter((family) => !families.includes(family))),
      ])
      unsubscribe = informers.of(Node).on({ added: configure, updated: configure })
    },
    /** The rules stay, since pods keep running. */
    stop() {
      unsubscribe()
      return Promise.resolve()
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
