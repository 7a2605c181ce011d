import { existsSync } from "node:fs"
import { join } from "node:path"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Component, ComponentContext } from "../../../pkg/component/component.ts"
import { CONFIG_NAME, uplinkMtu, writeCniConfig } from "./cni.ts"
import { allowPodEgress } from "./egress.ts"
import { prepareKernel } from "../kernel.ts"
import type { ContainerdPaths } from "../paths.ts"

export interface PodNetworkConfig {
  readonly paths: ContainerdPaths
  readonly nodeName: string
  /** Pod addresses of the whole cluster. */
  readonly clusterCidr: string
}

/** Writes the network's configuration for the range that the cluster has given this node, and lets pods out. */
export function createPodNetwork(
  { informers, log }: ComponentContext,
  { paths, nodeName, clusterCidr }: PodNetworkConfig,
): Component {
  let unsubscribe = (): void => undefined
  const configure = ({ metadata, spec }: Node): void => {
    if (metadata.name !== nodeName || !spec.podCIDR) return
    try {
      writeCniConfig(paths, { podCidr: spec.podCIDR, mtu: uplinkMtu() })
    } catch (err) {
      log.error("Cannot write the configuration of the pod network", { path: paths.cniConfig, err })
    }
  }
  return {
    name: "pod-network",
    async start() {
      await Promise.all([prepareKernel(log), allowPodEgress(clusterCidr)])
      unsubscribe = informers.of(Node).on({ added: configure, updated: configure })
    },
    /** Rules stay: pods go on. */
    stop() {
      unsubscribe()
      return Promise.resolve()
    },
  }
}

/**
 * A configuration before the cluster has said what this node's range is, so that containerd finds a network when it
 * starts and the first pod does not wait for one. `firstRange` is what the only node of a new cluster gets; where
 * another is given, it is written before a pod can be bound here.
 */
export function presumeNetwork(paths: ContainerdPaths, firstRange: string): void {
  if (!existsSync(join(paths.cniConfig, CONFIG_NAME))) writeCniConfig(paths, { podCidr: firstRange, mtu: uplinkMtu() })
}
