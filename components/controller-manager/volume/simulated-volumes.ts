import { LOCAL_PATH } from "../../../pkg/api/storage/v1/local-path.ts"
import { reachedFrom, type VolumeMaker } from "../../../pkg/provisioner/volume-maker.ts"

const ZONE = "topology.kubernetes.io/zone"
const HOSTNAME = "kubernetes.io/hostname"

/**
 * Provisions volumes of every class for simulated nodes, so that manifests with a cloud's classes work in tests.
 * Volumes of `local-path` are bound to one node, as on real nodes; others can be used in the node's zone, or everywhere
 * when nodes have no zones. `others` are provisioners whose volumes somebody else makes.
 */
export const simulatedVolumes = (others: readonly string[]): VolumeMaker => ({
  name: "k3ts.dev/simulated",
  serves: (provisioner) =>
    provisioner !== "" && !provisioner.startsWith("kubernetes.io/") && !others.includes(provisioner),
  reaches: () => true,
  make: async ({ claim, node, storageClass: { provisioner } }) => {
    const label = provisioner === LOCAL_PATH ? HOSTNAME : ZONE
    const place = node?.metadata.labels?.[label]
    return {
      spec: {
        hostPath: { path: `/var/lib/simulated-volumes/${claim.metadata.uid}`, type: "DirectoryOrCreate" },
        ...(place === undefined ? {} : { nodeAffinity: reachedFrom(label, place) }),
      },
    }
  },
  remove: async () => {},
})
