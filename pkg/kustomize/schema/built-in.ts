/**
 * The lists of built-in kinds that strategic merge patches merge item by item, as far as kustomize knows them: those of
 * Kubernetes 1.21. Source: kyaml openapi/kubernetesapi/v1_21_2.
 */
import type { MergeSchema } from "./merge-schema.ts"

/** A list whose items are merged by these keys; a list of scalars when there are none. */
const list = (keys: readonly string[], items?: MergeSchema): MergeSchema => ({ keys, items, field: () => undefined })
const of = (fields: Readonly<Record<string, MergeSchema>>): MergeSchema => ({
  keys: undefined,
  items: undefined,
  field: (name) => (Object.hasOwn(fields, name) ? fields[name] : undefined),
})

const OBJECT_META = of({ finalizers: list([]), ownerReferences: list(["uid"]) })
const CONDITIONS = of({ conditions: list(["type"]) })
const CLAIM = of({ metadata: OBJECT_META, status: CONDITIONS })

const CONTAINER_FIELDS = {
  env: list(["name"]),
  volumeDevices: list(["devicePath"]),
  volumeMounts: list(["mountPath"]),
}
const EPHEMERAL_CONTAINER = of(CONTAINER_FIELDS)
const CONTAINER = of({ ...CONTAINER_FIELDS, ports: list(["containerPort", "protocol"]) })
const VOLUME = of({ ephemeral: of({ volumeClaimTemplate: of({ metadata: OBJECT_META }) }) })

const POD_SPEC = of({
  containers: list(["name"], CONTAINER),
  ephemeralContainers: list(["name"], EPHEMERAL_CONTAINER),
  hostAliases: list(["ip"]),
  imagePullSecrets: list(["name"]),
  initContainers: list(["name"], CONTAINER),
  topologySpreadConstraints: list(["topologyKey", "whenUnsatisfiable"]),
  volumes: list(["name"], VOLUME),
})
const POD_TEMPLATE = of({ metadata: OBJECT_META, spec: POD_SPEC })
const WORKLOAD_SPEC = of({ template: POD_TEMPLATE })
const WORKLOAD = of({ metadata: OBJECT_META, spec: WORKLOAD_SPEC, status: CONDITIONS })
const CRON_JOB = of({
  metadata: OBJECT_META,
  spec: of({ jobTemplate: of({ metadata: OBJECT_META, spec: WORKLOAD_SPEC }) }),
})
const WEBHOOKS = of({ metadata: OBJECT_META, webhooks: list(["name"]) })
const CSI_NODE = of({ metadata: OBJECT_META, spec: of({ drivers: list(["name"]) }) })
const WITH_CONDITIONS = of({ metadata: OBJECT_META, status: CONDITIONS })
const SERVICE_SPEC = of({ ports: list(["port", "protocol"]) })
const KUSTOMIZATION = of({ configMapGenerator: list(["name"]), secretGenerator: list(["name"]) })
const PLAIN = of({ metadata: OBJECT_META })

const KINDS: Readonly<Record<string, MergeSchema>> = {
  "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration": WEBHOOKS,
  "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration": WEBHOOKS,
  "admissionregistration.k8s.io/v1beta1/MutatingWebhookConfiguration": WEBHOOKS,
  "admissionregistration.k8s.io/v1beta1/ValidatingWebhookConfiguration": WEBHOOKS,
  "apiregistration.k8s.io/v1/APIService": WITH_CONDITIONS,
  "apiregistration.k8s.io/v1beta1/APIService": WITH_CONDITIONS,
  "apps/v1/DaemonSet": WORKLOAD,
  "apps/v1/Deployment": WORKLOAD,
  "apps/v1/ReplicaSet": WORKLOAD,
  "apps/v1/StatefulSet": of({
    metadata: OBJECT_META,
    spec: of({
      template: POD_TEMPLATE,
      volumeClaimTemplates: { keys: undefined, items: CLAIM, field: () => undefined },
    }),
    status: CONDITIONS,
  }),
  "batch/v1/CronJob": CRON_JOB,
  "batch/v1/Job": WORKLOAD,
  "batch/v1beta1/CronJob": CRON_JOB,
  "policy/v1/PodDisruptionBudget": WITH_CONDITIONS,
  "policy/v1beta1/PodDisruptionBudget": WITH_CONDITIONS,
  "storage.k8s.io/v1/CSINode": CSI_NODE,
  "storage.k8s.io/v1beta1/CSINode": CSI_NODE,
  "v1/ComponentStatus": of({ metadata: OBJECT_META, conditions: list(["type"]) }),
  "v1/Namespace": WITH_CONDITIONS,
  "v1/Node": of({
    metadata: OBJECT_META,
    spec: of({ podCIDRs: list([]) }),
    status: of({ addresses: list(["type"]), conditions: list(["type"]) }),
  }),
  "v1/PersistentVolumeClaim": CLAIM,
  "v1/Pod": of({
    metadata: OBJECT_META,
    spec: POD_SPEC,
    status: of({ conditions: list(["type"]), podIPs: list(["ip"]) }),
  }),
  "v1/PodTemplate": of({ metadata: OBJECT_META, template: POD_TEMPLATE }),
  "v1/ReplicationController": WORKLOAD,
  "v1/Service": of({ metadata: OBJECT_META, spec: SERVICE_SPEC, status: CONDITIONS }),
  "v1/ServiceAccount": of({ metadata: OBJECT_META, secrets: list(["name"]) }),
}

/** The kinds of which only the metadata has such lists. */
const PLAIN_KINDS: Readonly<Record<string, readonly string[]>> = {
  "apiextensions.k8s.io/v1": ["CustomResourceDefinition"],
  "apiextensions.k8s.io/v1beta1": ["CustomResourceDefinition"],
  "apps/v1": ["ControllerRevision"],
  "autoscaling/v1": ["HorizontalPodAutoscaler", "Scale"],
  "autoscaling/v2beta1": ["HorizontalPodAutoscaler"],
  "autoscaling/v2beta2": ["HorizontalPodAutoscaler"],
  "certificates.k8s.io/v1": ["CertificateSigningRequest"],
  "certificates.k8s.io/v1beta1": ["CertificateSigningRequest"],
  "coordination.k8s.io/v1": ["Lease"],
  "coordination.k8s.io/v1beta1": ["Lease"],
  "discovery.k8s.io/v1": ["EndpointSlice"],
  "discovery.k8s.io/v1beta1": ["EndpointSlice"],
  "events.k8s.io/v1": ["Event"],
  "events.k8s.io/v1beta1": ["Event"],
  "extensions/v1beta1": ["Ingress"],
  "flowcontrol.apiserver.k8s.io/v1beta1": ["FlowSchema", "PriorityLevelConfiguration"],
  "networking.k8s.io/v1": ["Ingress", "IngressClass", "NetworkPolicy"],
  "networking.k8s.io/v1beta1": ["Ingress", "IngressClass"],
  "node.k8s.io/v1": ["RuntimeClass"],
  "node.k8s.io/v1beta1": ["RuntimeClass"],
  "policy/v1beta1": ["Eviction", "PodSecurityPolicy"],
  "rbac.authorization.k8s.io/v1": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
  "rbac.authorization.k8s.io/v1beta1": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
  "scheduling.k8s.io/v1": ["PriorityClass"],
  "scheduling.k8s.io/v1beta1": ["PriorityClass"],
  "storage.k8s.io/v1": ["CSIDriver", "StorageClass", "VolumeAttachment"],
  "storage.k8s.io/v1beta1": ["CSIDriver", "CSIStorageCapacity", "StorageClass", "VolumeAttachment"],
  v1: ["Binding", "ConfigMap", "Endpoints", "Event", "LimitRange", "PersistentVolume", "ResourceQuota", "Secret"],
}

/** Returns the schema of a built-in kind. */
export function builtInSchema(apiVersion: string, kind: string): MergeSchema | undefined {
  const type = `${apiVersion}/${kind}`
  if (Object.hasOwn(KINDS, type)) return KINDS[type]
  return Object.hasOwn(PLAIN_KINDS, apiVersion) && PLAIN_KINDS[apiVersion]!.includes(kind) ? PLAIN : undefined
}

/** The types that schemas of others refer to by their names in Kubernetes' OpenAPI. */
const DEFINITIONS: Readonly<Record<string, MergeSchema>> = {
  "io.k8s.api.apps.v1.DaemonSetSpec": WORKLOAD_SPEC,
  "io.k8s.api.apps.v1.DeploymentSpec": WORKLOAD_SPEC,
  "io.k8s.api.batch.v1.JobSpec": WORKLOAD_SPEC,
  "io.k8s.api.batch.v1.JobTemplateSpec": of({ metadata: OBJECT_META, spec: WORKLOAD_SPEC }),
  "io.k8s.api.core.v1.Container": CONTAINER,
  "io.k8s.api.core.v1.EphemeralContainer": EPHEMERAL_CONTAINER,
  "io.k8s.api.core.v1.PersistentVolumeClaim": CLAIM,
  "io.k8s.api.core.v1.PersistentVolumeClaimTemplate": PLAIN,
  "io.k8s.api.core.v1.Pod": KINDS["v1/Pod"]!,
  "io.k8s.api.core.v1.PodSpec": POD_SPEC,
  "io.k8s.api.core.v1.PodTemplateSpec": POD_TEMPLATE,
  "io.k8s.api.core.v1.ServiceSpec": SERVICE_SPEC,
  "io.k8s.api.core.v1.Volume": VOLUME,
  "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": OBJECT_META,
}

/** Returns a built-in type by its name in Kubernetes' OpenAPI. */
export const builtInDefinition = (name: string): MergeSchema | undefined =>
  Object.hasOwn(DEFINITIONS, name) ? DEFINITIONS[name] : undefined

/** Returns the schema of kustomize's own kinds. */
export const kustomizationSchema = (apiVersion: string, kind: string): MergeSchema | undefined =>
  apiVersion === "kustomize.config.k8s.io/v1beta1" && kind === "Kustomization" ? KUSTOMIZATION : undefined
