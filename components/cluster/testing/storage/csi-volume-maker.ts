import { sleep, type Clock } from "../../../../pkg/clock/clock.ts"
import { reachedFrom, type VolumeMaker } from "../../../../pkg/provisioner/volume-maker.ts"
import type { SimulatedDriver } from "../../../kubelet/runtime/simulated/csi/simulated-driver.ts"

const ZONE = "topology.kubernetes.io/zone"

/**
 * Makes the volumes of a simulated driver. They can be used in the zone of the node that was chosen for the first pod,
 * where nodes have zones, and else everywhere. Source: kubernetes-csi/external-provisioner pkg/controller.
 */
export const csiVolumeMaker = (driver: SimulatedDriver, clock: Clock, signal: AbortSignal): VolumeMaker => ({
  name: driver.spec.name,
  serves: (provisioner) => provisioner === driver.spec.name,
  reaches: () => true,
  async make({ name, node, storageClass: { parameters = {} } }) {
    const { name: driverName, provisionMs } = driver.spec
    if (provisionMs > 0) await sleep(clock, provisionMs, signal)
    const zone = node?.metadata.labels?.[ZONE]
    const fsType = parameters["csi.storage.k8s.io/fstype"] ?? "ext4"
    return {
      spec: {
        csi: { driver: driverName, volumeHandle: name, fsType },
        ...(zone === undefined ? {} : { nodeAffinity: reachedFrom(ZONE, zone) }),
      },
    }
  },
  resize: async () => ({ onNode: false }),
  async remove({ metadata, spec: { csi } }) {
    const [node] = driver.nodesWith(csi?.volumeHandle ?? "")
    if (node !== undefined) throw new Error(`persistentvolume ${metadata.name ?? ""} is still attached to node ${node}`)
  },
})
