/** The objects of the day, as functions of what differs between them. */
import { ENDS } from "./machines.ts"
import type { Manifest } from "./step.ts"

/** The amounts of the day's machines. */
const AMOUNTS = { cpu: "4", memory: "8Gi", pods: "110", "ephemeral-storage": "100Gi" }

export const node = (name: string): Manifest => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: {
    name,
    labels: { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" },
  },
  spec: {},
  status: { capacity: AMOUNTS, allocatable: AMOUNTS, addresses: [{ type: "InternalIP", address: "192.0.2.10" }] },
})

/** Pods that must be on a certain machine, so that as many of them are lost with it on each day. */
export const on = (name: string) => ({ nodeSelector: { "kubernetes.io/hostname": name } })

export const podSpec = (more: object = {}, image = "example.com/app:1") => ({
  ...on("node-0"),
  terminationGracePeriodSeconds: 1,
  containers: [{ name: "c", image, resources: { requests: { cpu: "100m", memory: "64Mi" } } }],
  ...more,
})

export const template = (app: string, spec: object = podSpec(), annotations: Record<string, string> = {}) => ({
  metadata: { labels: { app }, annotations },
  spec,
})

const selecting = (app: string, spec: object = podSpec()) => ({
  selector: { matchLabels: { app } },
  template: template(app, spec),
})

export const deployment = (name: string, replicas: number, more: object = {}, spec: object = podSpec()): Manifest => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: { replicas, ...selecting(name, spec), ...more },
})

export const replicaSet = (name: string, replicas: number, spec: object): Manifest => ({
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  metadata: { name },
  spec: { replicas, ...selecting(name, spec) },
})

export const daemonSet = (name: string): Manifest => ({
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name },
  spec: selecting(name, podSpec({ nodeSelector: {} })),
})

/** A StatefulSet of two pods with a volume each. */
export const statefulSet = (name: string, more: object = {}, spec: object = podSpec()): Manifest => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name },
  spec: {
    replicas: 2,
    serviceName: name,
    ...selecting(name, spec),
    persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Delete" },
    volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claimSpec("static") }],
    ...more,
  },
})

/** A Job whose pods end so, two seconds after their start. */
export const job = (name: string, ends: "succeeded" | "failed", more: object = {}, spec: object = {}): Manifest => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name },
  spec: { template: jobTemplate(name, ends, spec), ...more },
})

export const jobTemplate = (name: string, ends: "succeeded" | "failed", spec: object = {}) =>
  template(name, podSpec({ restartPolicy: "Never", ...spec }), { [ENDS]: ends })

export const pod = (name: string, more: object = {}, labels: Record<string, string> = { app: name }): Manifest => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels },
  spec: podSpec(more),
})

export const service = (name: string, app: string | undefined, more: object = {}): Manifest => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { ...(app === undefined ? {} : { selector: { app } }), ports: [{ port: 80 }], ...more },
})

export const claimSpec = (storageClassName: string, more: object = {}) => ({
  storageClassName,
  accessModes: ["ReadWriteOnce"],
  resources: { requests: { storage: "1Gi" } },
  ...more,
})

export const claim = (name: string, storageClassName: string, more: object = {}): Manifest => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name },
  spec: claimSpec(storageClassName, more),
})

export const volume = (name: string, storageClassName: string, more: object = {}): Manifest => ({
  apiVersion: "v1",
  kind: "PersistentVolume",
  metadata: { name },
  spec: {
    storageClassName,
    accessModes: ["ReadWriteOnce"],
    capacity: { storage: "1Gi" },
    persistentVolumeReclaimPolicy: "Retain",
    hostPath: { path: `/day/${name}` },
    ...more,
  },
})

/** The volume of a claim, in a pod. */
export const mounting = (claimName: string) => ({
  volumes: [{ name: "v", persistentVolumeClaim: { claimName } }],
})

export const storageClass = (name: string, provisioner: string, more: object = {}): Manifest => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name },
  provisioner,
  ...more,
})

export const budget = (name: string, app: string, minAvailable: number): Manifest => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name },
  spec: { minAvailable, selector: { matchLabels: { app } } },
})

/** An autoscaler that has no metrics: it keeps to its bounds. */
export const autoscaler = (name: string, target: object, minReplicas: number): Manifest => ({
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: { name },
  spec: { scaleTargetRef: { ...target, name }, minReplicas, maxReplicas: 5 },
})

export const certificateRequest = (name: string, request: string, signerName: string): Manifest => ({
  apiVersion: "certificates.k8s.io/v1",
  kind: "CertificateSigningRequest",
  metadata: { name },
  spec: { request, signerName, usages: ["digital signature", "key encipherment", "client auth"] },
})
