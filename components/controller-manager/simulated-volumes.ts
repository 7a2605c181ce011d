import type { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { PersistentVolume } from "../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { LOCAL_PATH } from "../../pkg/api/storage/v1/local-path.ts"
import type { VolumeMaker } from "../../pkg/provisioner/volume-maker.ts"

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
    const affinity = node === undefined ? undefined : affinityTo(node, provisioner === LOCAL_PATH ? HOSTNAME : ZONE)
    return {
      spec: {
        hostPath: { path: `/var/lib/simulated-volumes/${claim.metadata.uid}`, type: "DirectoryOrCreate" },
        ...(affinity === undefined ? {} : { nodeAffinity: affinity }),
      },
    }
  },
  remove: async () => {},
}

function affinityTo({ metadata }: Node, label: string): PersistentVolume["spec"]["nodeAffinity"] {
  const value = metadata.labels?.[label]
  if (value === undefined) return undefined
  return {
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key: label, operator: "In", values: [value] }] }] },
  }
}
