import { SimulatedDriver } from "../../../kubelet/runtime/simulated/csi/simulated-driver.ts"
import { didYouMean } from "../../../../pkg/names/suggest.ts"
import { TestClusterError } from "../caller.ts"
import { milliseconds, type Duration } from "../time/duration.ts"

/** A simulated CSI driver: its provisioner, its attacher, and its part on each node. */
export interface CsiDriverOptions {
  /** How long it takes to create a volume; 0 by default. */
  readonly provisionDelay?: Duration
  /** How long it takes to attach a volume to a node; 0 by default. */
  readonly attachDelay?: Duration
  /** How long it takes to detach a volume; 0 by default. */
  readonly detachDelay?: Duration
  /** How long a node takes to mount a volume; 0 by default. */
  readonly mountDelay?: Duration
  /** False for a driver whose volumes are attached to no node, as those of file servers; true by default. */
  readonly attachRequired?: boolean
  /** How many volumes of the driver a node can have, which the scheduler obeys; no limit by default. */
  readonly volumesPerNode?: number
}

/** The drivers of a cluster, by their names. */
export type CsiDriversOption = Readonly<Record<string, CsiDriverOptions>>

/** Source: ValidateCSIDriverName in pkg/apis/storage/validation. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/i

/** Returns the drivers of a cluster. @throws TestClusterError with the option, its value and what to change */
export const csiDrivers = (given: CsiDriversOption = {}): ReadonlyMap<string, SimulatedDriver> =>
  new Map(Object.entries(given).map(([name, options]) => [name, csiDriver(name, options)]))

function csiDriver(name: string, options: CsiDriverOptions): SimulatedDriver {
  const { provisionDelay = 0, attachDelay = 0, detachDelay = 0, mountDelay = 0, volumesPerNode } = options
  if (!NAME.test(name))
    throw new TestClusterError(
      `Cannot name a CSI driver ${JSON.stringify(name)}: expected a name such as "disk.example.com"`,
    )
  if (volumesPerNode !== undefined && !(Number.isInteger(volumesPerNode) && volumesPerNode >= 0))
    throw new TestClusterError(
      `Cannot use volumesPerNode: ${volumesPerNode} of the CSI driver ${name}: expected a whole number`,
    )
  return new SimulatedDriver({
    name,
    provisionMs: milliseconds(provisionDelay),
    attachMs: milliseconds(attachDelay),
    detachMs: milliseconds(detachDelay),
    mountMs: milliseconds(mountDelay),
    attachRequired: options.attachRequired ?? true,
    mostVolumes: volumesPerNode,
  })
}

/** Returns a driver. @throws TestClusterError for an unknown one */
export function driverNamed(name: string, drivers: ReadonlyMap<string, SimulatedDriver>): SimulatedDriver {
  const found = drivers.get(name)
  if (found !== undefined) return found
  const names = [...drivers.keys()]
  const known = names.length === 0 ? "start the cluster with `csiDrivers`" : `the drivers are ${names.join(", ")}`
  throw new TestClusterError(`There is no CSI driver ${JSON.stringify(name)}${didYouMean(name, names) || `: ${known}`}`)
}
