import { pod, type Situation } from "./situation.fixtures.ts"

const claim = (spec: string): string => `
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: ${spec}
`
const USER = pod(
  "web",
  `{containers: [{name: c, image: "app:1", volumeMounts: [{name: v, mountPath: /data}]}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}`,
)
const SIZE = "resources: {requests: {storage: 1Gi}}"
const volume = (name: string, spec: string): string => `
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: ${name}}
spec: ${spec}
`

export const STORAGE: readonly Situation[] = [
  {
    title: "a claim that does not exist",
    yaml: USER,
    ask: "pod/web",
    cause: "persistentvolumeclaim-missing",
    says: /PersistentVolumeClaim default\/data does not exist/,
  },
  {
    title: "a claim of a class that does not exist",
    yaml: claim(`{storageClassName: fast, accessModes: [ReadWriteOnce], ${SIZE}}`) + USER,
    ask: "pod/web",
    cause: "storage-class-missing",
    says: /StorageClass fast does not exist/,
  },
  {
    title: "a claim without a class in a cluster without a default one",
    yaml: "",
    breaks: async (cluster) => {
      await cluster.kubectl("delete storageclass local-path")
      await cluster.apply(claim(`{accessModes: [ReadWriteOnce], ${SIZE}}`))
    },
    ask: "pvc/data",
    cause: "storage-class-missing",
    says: /it names no storage class, and the cluster has no default one/,
  },
  {
    title: "a claim that no pod uses yet",
    yaml: `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: late}
provisioner: example.com/disk
volumeBindingMode: WaitForFirstConsumer
${claim(`{storageClassName: late, accessModes: [ReadWriteOnce], ${SIZE}}`)}`,
    ask: "pvc/data",
    cause: "claim-waits-for-pod",
    says: /no pod uses it yet: class late makes its volume when the first one is scheduled/,
  },
  {
    title: "a claim whose provisioner does not run",
    yaml: `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: net}
provisioner: disk.example.com
${claim(`{storageClassName: net, accessModes: [ReadWriteOnce], ${SIZE}}`)}${USER}`,
    ask: "pod/web",
    cause: "provisioner-silent",
    says: /waits for disk\.example\.com to make its volume; perhaps this provisioner does not run/,
    options: { nodes: 1, csiDrivers: { "disk.example.com": { provisionDelay: "10h" } } },
  },
  {
    title: "a claim with an access mode that no volume has",
    yaml:
      volume(
        "disk",
        `{capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], storageClassName: "", hostPath: {path: /x}}`,
      ) + claim(`{storageClassName: "", accessModes: [ReadWriteMany], ${SIZE}}`),
    ask: "pvc/data",
    cause: "no-volume-fits",
    says: /volume disk has ReadWriteOnce and not ReadWriteMany/,
  },
  {
    title: "a claim that is larger than any volume",
    yaml:
      volume(
        "disk",
        `{capacity: {storage: 500Mi}, accessModes: [ReadWriteOnce], storageClassName: "", hostPath: {path: /x}}`,
      ) + claim(`{storageClassName: "", accessModes: [ReadWriteOnce], ${SIZE}}`),
    ask: "pvc/data",
    cause: "no-volume-fits",
    says: /volume disk has 500Mi, less than the 1Gi of the claim/,
  },
  {
    title: "a claim that is deleted while a pod uses it",
    yaml:
      volume(
        "disk",
        `{capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], storageClassName: "", hostPath: {path: /x}}`,
      ) +
      claim(`{storageClassName: "", accessModes: [ReadWriteOnce], ${SIZE}}`) +
      USER,
    breaks: (cluster) => cluster.kubectl("delete pvc data --wait=false"),
    ask: "pvc/data",
    cause: "held-by-finalizer",
    says: /held by the finalizer kubernetes\.io\/pvc-protection: pod web/,
  },
  {
    title: "a volume whose claim is gone",
    yaml:
      volume(
        "disk",
        `{capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], storageClassName: "", hostPath: {path: /x}}`,
      ) + claim(`{storageClassName: "", accessModes: [ReadWriteOnce], ${SIZE}}`),
    breaks: (cluster) => cluster.kubectl("delete pvc data"),
    ask: "pv/disk",
    cause: "volume-released",
    says: /its claim default\/data is gone, and it is kept with its data/,
  },
  {
    title: "a volume that is on another node than the pod may use",
    yaml:
      volume(
        "disk",
        `{capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], storageClassName: "", local: {path: /x}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [gone]}]}]}}}`,
      ) +
      claim(`{storageClassName: "", accessModes: [ReadWriteOnce], ${SIZE}}`) +
      USER,
    ask: "pod/web",
    cause: "volume-elsewhere",
    says: /cannot reach volume disk of claim data, which is on another node/,
  },
  {
    title: "a volume that is attached to another node",
    yaml: `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disk}
provisioner: disk.example.com
${claim(`{storageClassName: disk, accessModes: [ReadWriteOnce], ${SIZE}}`)}${USER.replace("spec: {", "spec: {nodeName: node-0, ")}`,
    breaks: (cluster) =>
      cluster.apply(USER.replace("name: web", "name: other").replace("spec: {", "spec: {nodeName: node-1, ")),
    ask: "pod/other",
    cause: "volume-in-use",
    says: /attached to another node, and can be used by one at a time: Multi-Attach error/,
    options: { nodes: 2, csiDrivers: { "disk.example.com": {} } },
  },
  {
    title: "a pod that is too large, whose claim has a local volume waiting for it",
    yaml: `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disks}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
${volume("disk", `{capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], storageClassName: disks, local: {path: /x}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-0]}]}]}}}`)}
${claim(`{storageClassName: disks, accessModes: [ReadWriteOnce], ${SIZE}}`)}
${USER.replace('image: "app:1"', 'image: "app:1", resources: {requests: {cpu: "100"}}')}`,
    ask: "pod/web",
    cause: "insufficient-cpu",
    says: /needs 100 CPUs, the whole node has 8/,
  },

  {
    title: "a claim for one pod, which another one has",
    yaml: `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disk}
provisioner: disk.example.com
${claim(`{storageClassName: disk, accessModes: [ReadWriteOncePod], ${SIZE}}`)}${USER}`,
    breaks: (cluster) => cluster.apply(USER.replace("name: web", "name: other")),
    ask: "pod/other",
    cause: "claim-in-use",
    says: /claim data may be used by one pod at a time \(ReadWriteOncePod\), and pod default\/web uses it/,
    options: { nodes: 1, csiDrivers: { "disk.example.com": {} } },
  },
  {
    title: "a claim whose only volume is on another node than the pod wants",
    yaml: `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disks}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
${volume("disk", `{capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], storageClassName: disks, local: {path: /x}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-1]}]}]}}}`)}
${claim(`{storageClassName: disks, accessModes: [ReadWriteOnce], ${SIZE}}`)}
${USER.replace("spec: {", "spec: {nodeSelector: {kubernetes.io/hostname: node-0}, ")}`,
    ask: "pod/web",
    cause: "volume-elsewhere",
    says: /cannot reach disk, which claim data could get: it is on another node/,
  },
  {
    title: "a class that makes volumes only where no node is",
    yaml: `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: zonal}
provisioner: disk.example.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [far]}]}]
${claim(`{storageClassName: zonal, accessModes: [ReadWriteOnce], ${SIZE}}`)}${USER}`,
    ask: "pod/web",
    cause: "volume-elsewhere",
    says: /is not where class zonal of claim data may make volumes: where topology\.kubernetes\.io\/zone is far/,
    options: { nodes: 1, csiDrivers: { "disk.example.com": {} } },
  },
  {
    title: "a node that has as many volumes of a driver as it may",
    yaml: `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disk}
provisioner: disk.example.com
${claim(`{storageClassName: disk, accessModes: [ReadWriteOnce], ${SIZE}}`)}
${claim(`{storageClassName: disk, accessModes: [ReadWriteOnce], ${SIZE}}`).replace("name: data", "name: more")}${USER}`,
    breaks: (cluster) =>
      cluster.apply(USER.replace("name: web", "name: other").replace("claimName: data", "claimName: more")),
    ask: "pod/other",
    cause: "volume-limit",
    says: /has 1 volumes of disk\.example\.com and may have 1/,
    options: { nodes: 1, csiDrivers: { "disk.example.com": { volumesPerNode: 1 } } },
  },
  {
    title: "a volume of a driver that the node does not have",
    yaml:
      volume(
        "disk",
        `{capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], storageClassName: "", csi: {driver: gone.example.com, volumeHandle: x}}`,
      ) +
      claim(`{storageClassName: "", accessModes: [ReadWriteOnce], ${SIZE}}`) +
      USER,
    ask: "pod/web",
    cause: "csi-driver-missing",
    says: /CSI driver gone\.example\.com, which mounts a volume of it, does not run on node node-0/,
    options: { nodes: 1 },
  },
  {
    title: "a block device that is mounted as a file system",
    yaml:
      volume(
        "disk",
        `{capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], volumeMode: Block, storageClassName: "", local: {path: /dev/x}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [linux]}]}]}}}`,
      ) +
      claim(`{storageClassName: "", volumeMode: Block, accessModes: [ReadWriteOnce], ${SIZE}}`) +
      USER,
    ask: "pod/web",
    cause: "volume-is-block",
    says: /mounts volume v as a file system, and claim data is a block device \(volumeMode Block\)/,
    options: { nodes: 1 },
  },
  {
    title: "a claim that wants a volume which still belongs to a claim that is gone",
    yaml:
      volume(
        "disk",
        `{capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], storageClassName: "", hostPath: {path: /x}}`,
      ) + claim(`{storageClassName: "", accessModes: [ReadWriteOnce], ${SIZE}}`).replace("name: data", "name: first"),
    breaks: async (cluster) => {
      await cluster.kubectl("delete pvc first")
      await cluster.apply(claim(`{storageClassName: "", accessModes: [ReadWriteOnce], ${SIZE}}`))
    },
    ask: "pvc/data",
    cause: "no-volume-fits",
    says: /belonged to claim default\/first, which is gone, and is kept \(Released\)/,
  },
]
