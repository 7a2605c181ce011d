import type { Clock } from "../../../../../pkg/clock/clock.ts"
import type { CsiDrivers, CsiNodeDriver } from "../../csi-driver.ts"
import type { NodeFaults } from "../faults.ts"
import type { MemoryFiles } from "../machine/memory-files.ts"
import type { SimulatedDriver } from "./simulated-driver.ts"

export interface NodeDriversOptions {
  readonly drivers: readonly SimulatedDriver[]
  readonly node: string
  readonly clock: Clock
  readonly files: MemoryFiles
  readonly faults: NodeFaults
}

/** Returns the CSI drivers of a simulated machine. */
export const nodeDrivers = ({ drivers, ...machine }: NodeDriversOptions): CsiDrivers =>
  new Map(drivers.map((driver) => [driver.spec.name, nodeDriver(driver, machine)]))

/** The service of a driver on one node. What it mounts is a folder in the machine's memory. */
function nodeDriver(
  driver: SimulatedDriver,
  { node, clock, files, faults }: Omit<NodeDriversOptions, "drivers">,
): CsiNodeDriver {
  const { mountMs, mostVolumes } = driver.spec
  return {
    nodeId: node,
    mostVolumes,
    async stage({ handle, stagingPath }, signal) {
      await faults.take(mountMs, { clock, method: "NodeStageVolume", signal })
      await driver.mount(handle, node, signal)
      await files.makeFolder(stagingPath)
    },
    async publish(_volume, target, signal) {
      await faults.take(0, { clock, method: "NodePublishVolume", signal })
      await files.makeFolder(target)
    },
    unpublish: (_handle, target) => files.remove(target),
    unstage: ({ stagingPath }) => files.remove(stagingPath),
  }
}
