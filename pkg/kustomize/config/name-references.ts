/** The fields that hold names of other objects. Source: kustomize builtinpluginconsts/namereference.go. */
import type { Gvk } from "../resource/gvk.ts"
import type { FieldSpec, NameBackReference } from "./field-spec.ts"
import { POD_SPECS, type PodKind } from "./pod-paths.ts"

const field = (path: string, gvk: Partial<Gvk>): FieldSpec => ({
  group: "",
  version: "",
  kind: "",
  ...gvk,
  path,
  create: false,
})
const reference = (gvk: Partial<Gvk>, ...fieldSpecs: readonly FieldSpec[]): NameBackReference => ({
  group: "",
  version: "",
  kind: "",
  ...gvk,
  fieldSpecs,
})

/** Returns the fields at these paths in the specs of pods. */
const inPods = (kinds: readonly PodKind[], paths: readonly string[], pod: Partial<Gvk> = {}): readonly FieldSpec[] =>
  kinds.flatMap((kind) =>
    paths.map((path) => field(`${POD_SPECS[kind]}/${path}`, { kind, ...(kind === "Pod" ? pod : {}) })),
  )

/** The kinds whose pods use ConfigMaps and Secrets. A ReplicationController is not among them. */
const WITH_DATA: readonly PodKind[] = [
  "Pod",
  "PodTemplate",
  "Deployment",
  "ReplicaSet",
  "DaemonSet",
  "StatefulSet",
  "Job",
  "CronJob",
]
/** The kinds whose pods have other names. A ReplicaSet and a PodTemplate are not among them. */
const OTHERS: readonly PodKind[] = [
  "Pod",
  "StatefulSet",
  "Deployment",
  "ReplicationController",
  "CronJob",
  "Job",
  "DaemonSet",
]

const dataPaths = (volume: string, projected: string, key: string, source: string): readonly string[] => [
  `volumes/${volume}`,
  `containers/env/valueFrom/${key}/name`,
  `initContainers/env/valueFrom/${key}/name`,
  `containers/envFrom/${source}/name`,
  `initContainers/envFrom/${source}/name`,
  `volumes/projected/sources/${projected}/name`,
]

const RBAC = "rbac.authorization.k8s.io"
const ADMISSION = "admissionregistration.k8s.io"
const kinds = (names: readonly string[], path: string, group = ""): readonly FieldSpec[] =>
  names.map((kind) => field(path, { kind, group }))
const NGINX = String.raw`metadata/annotations/nginx.ingress.kubernetes.io\/`

export const NAME_REFERENCES: readonly NameBackReference[] = [
  ...["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"].map((kind) =>
    reference({ kind }, field("spec/scaleTargetRef/name", { kind: "HorizontalPodAutoscaler" })),
  ),
  reference(
    { kind: "ConfigMap", version: "v1" },
    ...inPods(WITH_DATA, dataPaths("configMap/name", "configMap", "configMapKeyRef", "configMapRef"), {
      version: "v1",
    }),
    field("spec/configSource/configMap", { kind: "Node" }),
    ...kinds(["Role", "ClusterRole"], "rules/resourceNames"),
    field(`${NGINX}fastcgi-params-configmap`, { kind: "Ingress" }),
  ),
  reference(
    { kind: "Secret", version: "v1" },
    ...inPods(
      WITH_DATA,
      [...dataPaths("secret/secretName", "secret", "secretKeyRef", "secretRef"), "imagePullSecrets/name"],
      { version: "v1" },
    ),
    field("spec/tls/secretName", { kind: "Ingress" }),
    field(String.raw`metadata/annotations/ingress.kubernetes.io\/auth-secret`, { kind: "Ingress" }),
    field(`${NGINX}auth-secret`, { kind: "Ingress" }),
    field(`${NGINX}auth-tls-secret`, { kind: "Ingress" }),
    field("imagePullSecrets/name", { kind: "ServiceAccount" }),
    ...["secretName", "adminSecretName", "userSecretName", "secretRef"].map((name) =>
      field(`parameters/${name}`, { kind: "StorageClass" }),
    ),
    ...kinds(["Role", "ClusterRole"], "rules/resourceNames"),
    field("spec/template/spec/containers/env/valueFrom/secretKeyRef/name", {
      kind: "Service",
      group: "serving.knative.dev",
      version: "v1",
    }),
    field("spec/azureFile/secretName", { kind: "PersistentVolume" }),
  ),
  reference(
    { kind: "Service", version: "v1" },
    field("spec/serviceName", { kind: "StatefulSet", group: "apps" }),
    ...[
      "spec/rules/http/paths/backend/serviceName",
      "spec/backend/serviceName",
      "spec/rules/http/paths/backend/service/name",
      "spec/defaultBackend/service/name",
    ].map((path) => field(path, { kind: "Ingress" })),
    field("spec/service/name", { kind: "APIService", group: "apiregistration.k8s.io" }),
    ...kinds(
      ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"],
      "webhooks/clientConfig/service",
      ADMISSION,
    ),
  ),
  reference({ kind: "Role", group: RBAC }, ...kinds(["RoleBinding"], "roleRef/name", RBAC)),
  reference(
    { kind: "ClusterRole", group: RBAC },
    ...kinds(["RoleBinding", "ClusterRoleBinding"], "roleRef/name", RBAC),
  ),
  reference(
    { kind: "ServiceAccount", version: "v1" },
    ...kinds(["RoleBinding", "ClusterRoleBinding"], "subjects", RBAC),
    ...inPods(OTHERS, ["serviceAccountName"]),
  ),
  reference(
    { kind: "PersistentVolumeClaim", version: "v1" },
    ...inPods(OTHERS, ["volumes/persistentVolumeClaim/claimName"]),
  ),
  reference(
    { kind: "PersistentVolume", version: "v1" },
    field("spec/volumeName", { kind: "PersistentVolumeClaim" }),
    field("rules/resourceNames", { kind: "ClusterRole" }),
  ),
  reference(
    { kind: "StorageClass", version: "v1", group: "storage.k8s.io" },
    ...kinds(["PersistentVolume", "PersistentVolumeClaim"], "spec/storageClassName"),
    field("spec/volumeClaimTemplates/spec/storageClassName", { kind: "StatefulSet" }),
  ),
  reference(
    { kind: "PriorityClass", version: "v1", group: "scheduling.k8s.io" },
    ...inPods(OTHERS, ["priorityClassName"]),
  ),
  // The group is what kustomize has, which no kind has: it never applies.
  reference(
    { kind: "IngressClass", version: "v1", group: "networking.k8s.io/v1" },
    field("spec/ingressClassName", { kind: "Ingress" }),
  ),
  reference(
    { kind: "ValidatingAdmissionPolicy", group: ADMISSION },
    field("spec/policyName", { kind: "ValidatingAdmissionPolicyBinding", group: ADMISSION }),
  ),
]
