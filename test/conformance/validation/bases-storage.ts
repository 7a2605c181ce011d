import type { Base, Json } from "./base.ts"

/** Volumes, claims and the kinds of storage. */

const TIME = "2026-01-01T00:00:00Z"
const REF = { name: "s", namespace: "n" }

const volume = (name: string, source: Json, more: Json = {}): Base => ({
  kind: "v1 PersistentVolume",
  name,
  body: { spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], ...source, ...more } },
})

const SOURCES: Readonly<Record<string, Json>> = {
  awsElasticBlockStore: { volumeID: "v", fsType: "ext4", partition: 1, readOnly: true },
  azureDisk: {
    diskName: "d",
    diskURI: "https://u",
    cachingMode: "None",
    fsType: "ext4",
    readOnly: false,
    kind: "Shared",
  },
  azureFile: { secretName: "s", shareName: "h", readOnly: true, secretNamespace: "n" },
  cephfs: { monitors: ["m"], path: "/p", user: "u", secretFile: "/f", secretRef: REF, readOnly: true },
  cinder: { volumeID: "v", fsType: "ext4", readOnly: true, secretRef: REF },
  csi: {
    driver: "d.example.com",
    volumeHandle: "h",
    readOnly: true,
    fsType: "ext4",
    volumeAttributes: { a: "b" },
    controllerPublishSecretRef: REF,
    nodeStageSecretRef: REF,
    nodePublishSecretRef: REF,
    controllerExpandSecretRef: REF,
    nodeExpandSecretRef: REF,
  },
  fc: { targetWWNs: ["w"], lun: 1, fsType: "ext4", readOnly: true },
  flexVolume: { driver: "a/d", fsType: "ext4", secretRef: REF, readOnly: true, options: { a: "b" } },
  flocker: { datasetName: "d" },
  gcePersistentDisk: { pdName: "p", fsType: "ext4", partition: 1, readOnly: true },
  glusterfs: { endpoints: "e", path: "p", readOnly: true, endpointsNamespace: "n" },
  hostPath: { path: "/p", type: "Directory" },
  iscsi: {
    targetPortal: "10.0.0.1",
    iqn: "iqn.2001-04.com.example:storage",
    lun: 0,
    iscsiInterface: "default",
    fsType: "ext4",
    readOnly: true,
    portals: ["10.0.0.2"],
    chapAuthDiscovery: true,
    chapAuthSession: true,
    secretRef: REF,
    initiatorName: "iqn.2001-04.com.example:i",
  },
  local: { path: "/p", fsType: "ext4" },
  nfs: { server: "s", path: "/p", readOnly: true },
  photonPersistentDisk: { pdID: "p", fsType: "ext4" },
  portworxVolume: { volumeID: "v", fsType: "ext4", readOnly: true },
  quobyte: { registry: "r:1", volume: "v", readOnly: true, user: "u", group: "g", tenant: "t" },
  rbd: {
    monitors: ["m"],
    image: "i",
    fsType: "ext4",
    pool: "p",
    user: "u",
    keyring: "/k",
    secretRef: REF,
    readOnly: true,
  },
  scaleIO: {
    gateway: "g",
    system: "s",
    secretRef: REF,
    sslEnabled: true,
    protectionDomain: "p",
    storagePool: "o",
    storageMode: "ThinProvisioned",
    volumeName: "v",
    fsType: "xfs",
    readOnly: true,
  },
  storageos: { volumeName: "v", volumeNamespace: "n", fsType: "ext4", readOnly: true, secretRef: REF },
  vsphereVolume: { volumePath: "[d] v", fsType: "ext4", storagePolicyName: "p", storagePolicyID: "i" },
}

const nodeAffinity = {
  required: {
    nodeSelectorTerms: [
      {
        matchExpressions: [{ key: "a", operator: "In", values: ["b"] }],
        matchFields: [{ key: "metadata.name", operator: "In", values: ["n"] }],
      },
    ],
  },
}

export const STORAGE_BASES: readonly Base[] = [
  ...Object.entries(SOURCES).map(([name, source]) =>
    volume(name, { [name]: source }, name === "local" ? { nodeAffinity } : {}),
  ),
  volume(
    "full",
    {
      csi: { driver: "d.example.com", volumeHandle: "h" },
      nodeAffinity,
    },
    {
      claimRef: { kind: "PersistentVolumeClaim", namespace: "differential", name: "c", uid: "u", apiVersion: "v1" },
      persistentVolumeReclaimPolicy: "Retain",
      storageClassName: "slow",
      mountOptions: ["ro"],
      volumeMode: "Filesystem",
      volumeAttributesClassName: "gold",
    },
  ),
  {
    kind: "v1 PersistentVolume",
    name: "status",
    body: { spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/p" } } },
    status: { phase: "Available", message: "m", reason: "R", lastPhaseTransitionTime: TIME },
    volatile: ["lastPhaseTransitionTime"],
  },
  {
    kind: "v1 PersistentVolumeClaim",
    name: "minimal",
    body: { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
  },
  {
    kind: "v1 PersistentVolumeClaim",
    name: "full",
    body: {
      spec: {
        accessModes: ["ReadWriteOnce", "ReadOnlyMany"],
        resources: { requests: { storage: "1Gi" }, limits: { storage: "2Gi" } },
        selector: { matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "In", values: ["d"] }] },
        volumeName: "v",
        storageClassName: "slow",
        volumeMode: "Filesystem",
        dataSource: { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "s" },
        volumeAttributesClassName: "gold",
      },
    },
    status: {
      phase: "Bound",
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: "1Gi" },
      conditions: [
        { type: "Resizing", status: "True", lastProbeTime: TIME, lastTransitionTime: TIME, reason: "R", message: "m" },
      ],
      allocatedResources: { storage: "1Gi" },
      allocatedResourceStatuses: { storage: "NodeResizeInProgress" },
      currentVolumeAttributesClassName: "gold",
      modifyVolumeStatus: { targetVolumeAttributesClassName: "gold", status: "Pending" },
    },
  },
  {
    kind: "v1 PersistentVolumeClaim",
    name: "reference",
    body: {
      spec: {
        accessModes: ["ReadWriteOncePod"],
        resources: { requests: { storage: "1Gi" } },
        dataSourceRef: { apiGroup: "example.com", kind: "Thing", name: "s" },
      },
    },
  },
  { kind: "storage.k8s.io/v1 CSIDriver", name: "minimal", body: { spec: {} }, nameOf: (n) => `d${n}.example.com` },
  {
    kind: "storage.k8s.io/v1 CSIDriver",
    name: "full",
    nameOf: (n) => `f${n}.example.com`,
    body: {
      spec: {
        attachRequired: true,
        podInfoOnMount: true,
        volumeLifecycleModes: ["Persistent", "Ephemeral"],
        storageCapacity: true,
        fsGroupPolicy: "File",
        tokenRequests: [{ audience: "a", expirationSeconds: 600 }, { audience: "b" }],
        requiresRepublish: true,
        seLinuxMount: true,
        nodeAllocatableUpdatePeriodSeconds: 30,
        serviceAccountTokenInSecrets: true,
      },
    },
  },
  { kind: "storage.k8s.io/v1 CSINode", name: "minimal", body: { spec: { drivers: [] } } },
  {
    kind: "storage.k8s.io/v1 CSINode",
    name: "full",
    body: {
      spec: {
        drivers: [
          { name: "a.example.com", nodeID: "n", topologyKeys: ["example.com/zone"], allocatable: { count: 5 } },
          { name: "b.example.com", nodeID: "n", topologyKeys: null },
        ],
      },
    },
  },
  { kind: "storage.k8s.io/v1 CSIStorageCapacity", name: "minimal", body: { storageClassName: "slow" } },
  {
    kind: "storage.k8s.io/v1 CSIStorageCapacity",
    name: "full",
    body: {
      storageClassName: "slow",
      nodeTopology: { matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "Exists" }] },
      capacity: "1Gi",
      maximumVolumeSize: "1Gi",
    },
  },
  { kind: "storage.k8s.io/v1 StorageClass", name: "minimal", body: { provisioner: "p" } },
  {
    kind: "storage.k8s.io/v1 StorageClass",
    name: "full",
    body: {
      provisioner: "example.com/p",
      parameters: { a: "b" },
      reclaimPolicy: "Retain",
      mountOptions: ["ro"],
      allowVolumeExpansion: true,
      volumeBindingMode: "WaitForFirstConsumer",
      allowedTopologies: [{ matchLabelExpressions: [{ key: "a", values: ["b", "c"] }] }],
    },
  },
  {
    kind: "storage.k8s.io/v1 VolumeAttachment",
    name: "minimal",
    body: { spec: { attacher: "a.example.com", nodeName: "n", source: { persistentVolumeName: "v" } } },
    status: {
      attached: true,
      attachmentMetadata: { a: "b" },
      attachError: { time: TIME, message: "m", errorCode: 3 },
      detachError: { time: TIME, message: "m" },
    },
  },
  {
    kind: "storage.k8s.io/v1 VolumeAttributesClass",
    name: "minimal",
    body: { driverName: "d.example.com", parameters: { a: "b" } },
  },
]
