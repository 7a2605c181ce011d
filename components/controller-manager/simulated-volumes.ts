import { LOCAL_PATH } from "../../pkg/api/storage/v1/local-path.ts"
import { reachedFrom, type VolumeMaker } from "../../pkg/provisioner/volume-maker.ts"

const ZONE = "topology.kubernetes.io/zone"
const HOSTNAME = "kubernetes.io/hostname"

/**
 * Makes volumes of every class where nodes are simulated, so that manifests which name the classes of some cloud run in
 * tests. Those of `local-path` lie on one node, as where nodes are real; others are reached from the zone of the node,
 * from everywhere where nodes have no zones.
 */
export const simulatedVolumes: VolumeMaker = {
  name: "k3ts.dev/simulated",
  serves: (provisioner) => provisioner !== "" && !provisioner.startsWith("kubernetes.io/"),
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
}
