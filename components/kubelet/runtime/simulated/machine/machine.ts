import type { Machine } from "../../runtime.ts"
import type { NodeFaults } from "../faults.ts"

export interface SimulatedMachineOptions {
  readonly name: string
  readonly cpus: number
  readonly memoryBytes: number
  readonly diskBytes: number
}

/** Returns a simulated machine. `used` returns the memory that its containers use, in bytes. */
export function simulatedMachine(
  { name, cpus, memoryBytes, diskBytes }: SimulatedMachineOptions,
  faults: Pick<NodeFaults, "shortage">,
  used: () => number,
): Machine {
  const availableBytes = () => (faults.shortage.disk ? 0 : Math.floor(diskBytes * 0.9))
  return {
    cpus,
    memoryBytes,
    hugepages: {},
    hostname: name,
    hasAppArmor: true,
    info: {
      machineID: name,
      systemUUID: name,
      bootID: name,
      kernelVersion: "6.12.0-simulated",
      osImage: "Simulated Linux",
      operatingSystem: "linux",
      architecture: "amd64",
    },
    availableMemory: async () => (faults.shortage.memory ? 0 : Math.max(0, memoryBytes - used())),
    processes: async () => ({ used: 100, max: 4_194_304 }),
    space: async () => ({
      capacityBytes: diskBytes,
      usedBytes: diskBytes - availableBytes(),
      availableBytes: availableBytes(),
      inodes: 10_000_000,
      inodesFree: 9_000_000,
    }),
  }
}
