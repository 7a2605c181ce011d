/**
 * The built-in kinds that are in no namespace, as far as kustomize knows them: those of Kubernetes 1.21. Source: kyaml
 * openapi/openapi.go precomputedIsNamespaceScoped.
 */
export const CLUSTER_SCOPED: ReadonlySet<string> = new Set(
  Object.entries({
    "admissionregistration.k8s.io/v1": ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
    "admissionregistration.k8s.io/v1beta1": ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
    "apiextensions.k8s.io/v1": ["CustomResourceDefinition"],
    "apiextensions.k8s.io/v1beta1": ["CustomResourceDefinition"],
    "apiregistration.k8s.io/v1": ["APIService"],
    "apiregistration.k8s.io/v1beta1": ["APIService"],
    "certificates.k8s.io/v1": ["CertificateSigningRequest"],
    "certificates.k8s.io/v1beta1": ["CertificateSigningRequest"],
    "flowcontrol.apiserver.k8s.io/v1beta1": ["FlowSchema", "PriorityLevelConfiguration"],
    "networking.k8s.io/v1": ["IngressClass"],
    "networking.k8s.io/v1beta1": ["IngressClass"],
    "node.k8s.io/v1": ["RuntimeClass"],
    "node.k8s.io/v1beta1": ["RuntimeClass"],
    "policy/v1beta1": ["PodSecurityPolicy"],
    "rbac.authorization.k8s.io/v1": ["ClusterRole", "ClusterRoleBinding"],
    "rbac.authorization.k8s.io/v1beta1": ["ClusterRole", "ClusterRoleBinding"],
    "scheduling.k8s.io/v1": ["PriorityClass"],
    "scheduling.k8s.io/v1beta1": ["PriorityClass"],
    "storage.k8s.io/v1": ["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
    "storage.k8s.io/v1beta1": ["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
    v1: ["ComponentStatus", "Namespace", "Node", "NodeProxyOptions", "PersistentVolume"],
  }).flatMap(([apiVersion, kinds]) => kinds.map((kind) => `${apiVersion}/${kind}`)),
)

/**
 * The built-in kinds that are in namespaces: a schema that a kustomization brings does not change them. Source: as
 * above.
 */
const NAMESPACED: ReadonlySet<string> = new Set(
  Object.entries({
    "apps/v1": ["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
    "autoscaling/v1": ["HorizontalPodAutoscaler", "Scale"],
    "batch/v1": ["CronJob", "Job"],
    "networking.k8s.io/v1": ["Ingress", "NetworkPolicy"],
    "policy/v1": ["PodDisruptionBudget"],
    "rbac.authorization.k8s.io/v1": ["Role", "RoleBinding"],
    v1: [
      "ConfigMap",
      "Endpoints",
      "Event",
      "LimitRange",
      "PersistentVolumeClaim",
      "Pod",
      "PodTemplate",
      "ReplicationController",
      "ResourceQuota",
      "Secret",
      "Service",
      "ServiceAccount",
    ],
  }).flatMap(([apiVersion, kinds]) => kinds.map((kind) => `${apiVersion}/${kind}`)),
)

/** Returns whether a built-in kind is in namespaces; undefined for a kind that is not built in. */
export function isBuiltInNamespaced(type: string): boolean | undefined {
  if (CLUSTER_SCOPED.has(type)) return false
  return NAMESPACED.has(type) ? true : undefined
}
