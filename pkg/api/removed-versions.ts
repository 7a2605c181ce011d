/** Which beta and alpha versions of Kubernetes' kinds are deprecated and removed, and when. */

/** The versions of some kinds of one group. */
type Row = readonly [apiVersion: string, kinds: string, deprecatedMinor: number, removedMinor: number]

/**
 * Versions that were removed or have a release in which they are to be, as minor versions of Kubernetes 1. Source:
 * APILifecycleDeprecated and APILifecycleRemoved of k8s.io/api, k8s.io/apiextensions-apiserver and
 * k8s.io/kube-aggregator up to 1.37; removals after it are what was planned then.
 */
const ROWS: readonly Row[] = [
  ["admissionregistration.k8s.io/v1alpha1", "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding", 35, 38],
  ["admissionregistration.k8s.io/v1alpha1", "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding", 29, 32],
  ["admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding", 37, 40],
  ["admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfiguration ValidatingWebhookConfiguration", 16, 22],
  ["admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding", 31, 34],
  ["apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", 16, 22],
  ["apiregistration.k8s.io/v1beta1", "APIService", 19, 22],
  ["apps/v1beta1", "ControllerRevision Deployment StatefulSet", 8, 16],
  ["apps/v1beta2", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet", 9, 16],
  ["autoscaling/v2beta1", "HorizontalPodAutoscaler", 22, 25],
  ["autoscaling/v2beta2", "HorizontalPodAutoscaler", 23, 26],
  ["batch/v1beta1", "CronJob", 21, 25],
  ["certificates.k8s.io/v1alpha1", "ClusterTrustBundle", 34, 37],
  ["certificates.k8s.io/v1alpha1", "PodCertificateRequest", 37, 40],
  ["certificates.k8s.io/v1beta1", "CertificateSigningRequest", 19, 22],
  ["certificates.k8s.io/v1beta1", "ClusterTrustBundle PodCertificateRequest", 37, 40],
  ["coordination.k8s.io/v1alpha2", "LeaseCandidate", 35, 38],
  ["coordination.k8s.io/v1beta1", "Lease", 19, 22],
  ["coordination.k8s.io/v1beta1", "LeaseCandidate", 36, 39],
  ["discovery.k8s.io/v1beta1", "EndpointSlice", 21, 25],
  ["events.k8s.io/v1beta1", "Event", 22, 25],
  ["extensions/v1beta1", "DaemonSet Deployment ReplicaSet", 8, 16],
  ["extensions/v1beta1", "Ingress", 14, 22],
  ["extensions/v1beta1", "NetworkPolicy", 9, 16],
  ["flowcontrol.apiserver.k8s.io/v1alpha1", "FlowSchema PriorityLevelConfiguration", 20, 21],
  ["flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema PriorityLevelConfiguration", 23, 26],
  ["flowcontrol.apiserver.k8s.io/v1beta2", "FlowSchema PriorityLevelConfiguration", 26, 29],
  ["flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema PriorityLevelConfiguration", 29, 32],
  ["networking.k8s.io/v1alpha1", "ClusterCIDR", 28, 31],
  ["networking.k8s.io/v1alpha1", "IPAddress ServiceCIDR", 30, 33],
  ["networking.k8s.io/v1beta1", "IPAddress ServiceCIDR", 34, 37],
  ["networking.k8s.io/v1beta1", "Ingress IngressClass", 19, 22],
  ["node.k8s.io/v1beta1", "RuntimeClass", 22, 25],
  ["policy/v1beta1", "PodDisruptionBudget PodSecurityPolicy", 21, 25],
  ["rbac.authorization.k8s.io/v1beta1", "ClusterRole ClusterRoleBinding Role RoleBinding", 17, 22],
  ["resource.k8s.io/v1alpha3", "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice", 34, 37],
  ["resource.k8s.io/v1alpha3", "DeviceTaintRule", 36, 39],
  ["resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest", 39, 42],
  ["resource.k8s.io/v1beta1", "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice", 35, 38],
  ["resource.k8s.io/v1beta2", "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice", 36, 39],
  ["resource.k8s.io/v1beta2", "DeviceTaintRule", 39, 42],
  ["scheduling.k8s.io/v1beta1", "PriorityClass", 14, 22],
  ["storage.k8s.io/v1alpha1", "CSIStorageCapacity VolumeAttachment", 21, 24],
  ["storage.k8s.io/v1alpha1", "VolumeAttributesClass", 32, 35],
  ["storage.k8s.io/v1beta1", "CSIDriver StorageClass VolumeAttachment", 19, 22],
  ["storage.k8s.io/v1beta1", "CSINode", 17, 22],
  ["storage.k8s.io/v1beta1", "CSIStorageCapacity", 24, 27],
  ["storage.k8s.io/v1beta1", "VolumeAttributesClass", 34, 37],
  ["storagemigration.k8s.io/v1alpha1", "StorageVersionMigration", 33, 36],
  ["storagemigration.k8s.io/v1beta1", "StorageVersionMigration", 37, 40],
]

/** The newest release of which the table knows what it has removed, and not only what it was to remove. */
export const KNOWN_MINOR = 37

/** When a version of a kind is deprecated and removed: minor versions of Kubernetes 1. */
export interface Lifecycle {
  readonly deprecatedMinor: number
  readonly removedMinor: number
}

const LIFECYCLES: ReadonlyMap<string, ReadonlyMap<string, Lifecycle>> = new Map(
  [...Map.groupBy(ROWS, ([apiVersion]) => apiVersion)].map(([apiVersion, rows]) => [
    apiVersion,
    new Map(
      rows.flatMap(([, kinds, deprecatedMinor, removedMinor]) =>
        kinds.split(" ").map((kind) => [kind, { deprecatedMinor, removedMinor }] as const),
      ),
    ),
  ]),
)

/** Returns the end of a version of a kind; undefined for one that is not to be removed. */
export const lifecycleOf = (apiVersion: string, kind: string): Lifecycle | undefined =>
  LIFECYCLES.get(apiVersion)?.get(kind)
