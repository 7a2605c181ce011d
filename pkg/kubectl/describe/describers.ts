import type { Describer } from "./describing.ts"

/**
 * The describers of kinds, by `<group>/<kind>`, each loaded when it is needed. Kinds that are not here are described by
 * their fields (generic.ts). Source: describerMap in kubectl pkg/describe.
 */
const DESCRIBERS: Readonly<Record<string, () => Promise<Describer>>> = {
  "/Pod": async () => (await import("./pod.ts")).describePod,
  "/ReplicationController": async () => (await import("./replicationcontroller.ts")).describeReplicationController,
  "/Secret": async () => (await import("./secret.ts")).describeSecret,
  "/ConfigMap": async () => (await import("./secret.ts")).describeConfigMap,
  "/Service": async () => (await import("./service.ts")).describeService,
  "/ServiceAccount": async () => (await import("./serviceaccount.ts")).describeServiceAccount,
  "/Node": async () => (await import("./node.ts")).describeNode,
  "/LimitRange": async () => (await import("./limitrange.ts")).describeLimitRange,
  "/ResourceQuota": async () => (await import("./resourcequota.ts")).describeResourceQuota,
  "/PersistentVolume": async () => (await import("./persistentvolume.ts")).describePersistentVolume,
  "/PersistentVolumeClaim": async () => (await import("./persistentvolumeclaim.ts")).describePersistentVolumeClaim,
  "/Namespace": async () => (await import("./namespace.ts")).describeNamespace,
  "/Endpoints": async () => (await import("./endpoints.ts")).describeEndpoints,
  "discovery.k8s.io/EndpointSlice": async () => (await import("./endpointslice.ts")).describeEndpointSlice,
  "autoscaling/HorizontalPodAutoscaler": async () =>
    (await import("./horizontalpodautoscaler.ts")).describeHorizontalPodAutoscaler,
  "networking.k8s.io/Ingress": async () => (await import("./ingress.ts")).describeIngress,
  "networking.k8s.io/IngressClass": async () => (await import("./ingressclass.ts")).describeIngressClass,
  "networking.k8s.io/ServiceCIDR": async () => (await import("./addresses.ts")).describeServiceCIDR,
  "networking.k8s.io/IPAddress": async () => (await import("./addresses.ts")).describeIPAddress,
  "networking.k8s.io/NetworkPolicy": async () => (await import("./networkpolicy.ts")).describeNetworkPolicy,
  "batch/Job": async () => (await import("./job.ts")).describeJob,
  "batch/CronJob": async () => (await import("./cronjob.ts")).describeCronJob,
  "apps/StatefulSet": async () => (await import("./statefulset.ts")).describeStatefulSet,
  "apps/Deployment": async () => (await import("./deployment.ts")).describeDeployment,
  "apps/DaemonSet": async () => (await import("./daemonset.ts")).describeDaemonSet,
  "apps/ReplicaSet": async () => (await import("./replicaset.ts")).describeReplicaSet,
  "certificates.k8s.io/CertificateSigningRequest": async () =>
    (await import("./certificatesigningrequest.ts")).describeCertificateSigningRequest,
  "storage.k8s.io/StorageClass": async () => (await import("./storage.ts")).describeStorageClass,
  "storage.k8s.io/CSINode": async () => (await import("./storage.ts")).describeCSINode,
  "storage.k8s.io/VolumeAttributesClass": async () => (await import("./storage.ts")).describeVolumeAttributesClass,
  "policy/PodDisruptionBudget": async () => (await import("./poddisruptionbudget.ts")).describePodDisruptionBudget,
  "rbac.authorization.k8s.io/Role": async () => (await import("./roles.ts")).describeRole,
  "rbac.authorization.k8s.io/ClusterRole": async () => (await import("./roles.ts")).describeClusterRole,
  "rbac.authorization.k8s.io/RoleBinding": async () => (await import("./roles.ts")).describeRoleBinding,
  "rbac.authorization.k8s.io/ClusterRoleBinding": async () => (await import("./roles.ts")).describeClusterRoleBinding,
  "scheduling.k8s.io/PriorityClass": async () => (await import("./priorityclass.ts")).describePriorityClass,
}

/** What of a resource decides how its objects are described. */
export interface DescribedResource {
  readonly group: string
  readonly version: string
  readonly kind: string
  /** The name of the resource in paths. */
  readonly resource: string
}

export async function describerFor({ group, version, kind, resource }: DescribedResource): Promise<Describer> {
  const load = DESCRIBERS[`${group}/${kind}`]
  if (load !== undefined) return load()
  return (await import("./generic.ts")).genericDescriber({ group, version, resource })
}
