import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { Random } from "../../../../pkg/clock/random.ts"
import type { ContainerRuntime } from "../runtime.ts"
import type { ImageBehaviours } from "./containers/behaviour.ts"
import { SimulatedContainers } from "./containers/containers.ts"
import { NodeFaults } from "./faults.ts"
import { SimulatedImages } from "./images.ts"
import { simulatedMachine, type SimulatedMachineOptions } from "./machine/machine.ts"
import { memoryCgroups } from "./machine/memory-cgroups.ts"
import { MemoryFiles } from "./machine/memory-files.ts"
import { memoryVolumes } from "./machine/memory-volumes.ts"
import { simulatedPodNetwork, type SimulatedNetwork } from "./machine/network.ts"
import { simulatedUsage } from "./machine/usage.ts"
import { SimulatedStreams } from "./containers/streams.ts"

export interface SimulatedRuntimeOptions extends SimulatedMachineOptions {
  readonly nodeIp: string
  readonly clock: Clock
  readonly random: Random
  readonly behaviours: ImageBehaviours
  /** The network that all nodes of a cluster share. */
  readonly network: SimulatedNetwork
  /**
   * Returns the range of the node's pods, such as `10.42.0.0/24`. It is called for the first pod, since the range may
   * only be known after the node is registered.
   */
  readonly podCidr: () => string
}

export interface SimulatedRuntime extends ContainerRuntime {
  readonly containers: SimulatedContainers
  readonly files: MemoryFiles
  readonly images: SimulatedImages
  readonly faults: NodeFaults
}

/** Creates a machine in memory. Its containers do what the behaviours of their images say, in the time of `clock`. */
export function createSimulatedRuntime(options: SimulatedRuntimeOptions): SimulatedRuntime {
  const { clock, random, behaviours, network, name, nodeIp, podCidr } = options
  const faults = new NodeFaults()
  const files = new MemoryFiles()
  const images = new SimulatedImages(behaviours, clock, faults)
  const streams = new SimulatedStreams(network, files)
  const containers = new SimulatedContainers({
    node: name,
    nodeIp,
    clock,
    random,
    behaviours,
    network,
    images,
    files,
    faults,
    streams,
    allotIp: addresses(podCidr, network),
  })
  return {
    containers,
    images,
    files,
    faults,
    streams,
    volumes: memoryVolumes(files),
    cgroups: memoryCgroups(),
    network: simulatedPodNetwork(network),
    machine: simulatedMachine(options, faults, () => containers.inUse.memory),
    usage: simulatedUsage(containers, clock.now()),
  }
}

/**
 * Returns a function that allots the next free address of the range. It goes round the range, so that a released
 * address is not allotted again at once.
 */
function addresses(podCidr: () => string, network: SimulatedNetwork): () => string {
  let next = 0
  return () => {
    const [base = "", bits = "24"] = podCidr().split("/")
    const first = base.split(".").reduce((sum, part) => sum * 256 + Number(part), 0)
    const size = 2 ** (32 - Number(bits))
    // The first address is that of the network, the second the gateway's, the last the broadcast address.
    for (let tried = 0; tried < size - 3; tried++) {
      const ip = dotted(first + 2 + (next++ % (size - 3)))
      if (!network.has(ip)) return ip
    }
    throw new Error(`failed to allocate for range 0: no IP addresses available in range ${podCidr()}`)
  }
}

const dotted = (number: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".")
