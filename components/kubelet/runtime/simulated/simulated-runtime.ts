import { addressAt, parseNetwork } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { Random } from "../../../../pkg/clock/random.ts"
import type { ContainerRuntime } from "../runtime.ts"
import type { ImageBehaviours } from "./containers/behaviour.ts"
import { SimulatedContainers } from "./containers/containers.ts"
import { nodeDrivers } from "./csi/node-drivers.ts"
import type { SimulatedDriver } from "./csi/simulated-driver.ts"
import { NodeFaults } from "./faults.ts"
import { SimulatedImages } from "./images.ts"
import { simulatedMachine, type SimulatedMachineOptions } from "./machine/machine.ts"
import { MemoryCgroups } from "./machine/memory-cgroups.ts"
import { MemoryFiles } from "./machine/memory-files.ts"
import { MemoryVolumes } from "./machine/memory-volumes.ts"
import { SimulatedPodNetwork, type SimulatedNetwork } from "./machine/network.ts"
import { SimulatedUsage } from "./machine/usage.ts"
import { SimulatedStreams } from "./containers/streams.ts"

export interface SimulatedRuntimeOptions extends SimulatedMachineOptions {
  /** The node's addresses, the main one first. */
  readonly nodeIps: readonly string[]
  readonly clock: Clock
  readonly random: Random
  readonly behaviours: ImageBehaviours
  /** The network that all nodes of a cluster share. */
  readonly network: SimulatedNetwork
  /**
   * Returns the ranges of the node's pods, one of each family: `10.42.0.0/24`. It is called for the first pod, since
   * the ranges may only be known after the node is registered.
   */
  readonly podCidrs: () => readonly string[]
  /** The CSI drivers of the cluster; a machine has none by default. */
  readonly csiDrivers?: readonly SimulatedDriver[]
}

export interface SimulatedRuntime extends ContainerRuntime {
  readonly containers: SimulatedContainers
  readonly files: MemoryFiles
  readonly images: SimulatedImages
  readonly faults: NodeFaults
}

/** Creates a machine in memory. Its containers do what the behaviours of their images say, in the time of `clock`. */
export function createSimulatedRuntime(options: SimulatedRuntimeOptions): SimulatedRuntime {
  const { clock, random, behaviours, network, name, nodeIps, podCidrs, csiDrivers = [] } = options
  const faults = new NodeFaults()
  const files = new MemoryFiles()
  const images = new SimulatedImages(behaviours, clock, faults)
  const streams = new SimulatedStreams(network, files)
  const containers = new SimulatedContainers({
    node: name,
    nodeIps,
    clock,
    random,
    behaviours,
    network,
    images,
    files,
    faults,
    streams,
    allotIps: addresses(podCidrs, network),
  })
  return {
    containers,
    images,
    files,
    faults,
    streams,
    volumes: new MemoryVolumes(files),
    cgroups: new MemoryCgroups(),
    foresight: containers.foresight,
    network: new SimulatedPodNetwork(network, name),
    machine: simulatedMachine(options, faults, () => containers.inUse.memory),
    usage: new SimulatedUsage(containers, clock.now()),
    ...(csiDrivers.length === 0 ? {} : { csi: nodeDrivers({ drivers: csiDrivers, node: name, clock, files, faults }) }),
  }
}

/**
 * Returns a function that allots the next free address of each range. It goes round the range, so that a released
 * address is not allotted again at once.
 */
function addresses(podCidrs: () => readonly string[], network: SimulatedNetwork): () => readonly string[] {
  const allotters = new Map<string, () => string>()
  return () =>
    podCidrs().map((cidr) => {
      const allot = allotters.get(cidr) ?? addressesIn(cidr, network)
      allotters.set(cidr, allot)
      return allot()
    })
}

function addressesIn(cidr: string, network: SimulatedNetwork): () => string {
  const range = parseNetwork(cidr)!
  // The first address is that of the network, the second the gateway's, the last of IPv4 the broadcast address.
  const count = Math.min(Number(range.last - range.first) - (range.family === "IPv4" ? 2 : 1), MOST_ADDRESSES)
  let next = 0
  return () => {
    for (let tried = 0; tried < count; tried++) {
      const ip = addressAt(range, 2 + (next++ % count))
      if (!network.has(ip)) return ip
    }
    throw new Error(`failed to allocate for range 0: no IP addresses available in range ${cidr}`)
  }
}

/** More than pods that a node ever has at once, and few enough to search. */
const MOST_ADDRESSES = 2 ** 20
