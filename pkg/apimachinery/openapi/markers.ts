/**
 * Differences between upstream's OpenAPI documents and what follows from our declarations. Upstream's generator reads
 * comments of the Go sources (`+enum`, `+optional`, `+mapType`) on which nothing else depends: some types whose values
 * are checked are not marked as enums, some marked ones are not checked, and some fields count as required against
 * their validation.
 */
interface Markers {
  /** The values to list instead of those that are checked; an empty list for none. */
  readonly enums?: Readonly<Record<string, readonly string[]>>
  /** Whether a field is listed as required. */
  readonly required?: Readonly<Record<string, boolean>>
  readonly mapTypes?: Readonly<Record<string, "granular">>
  /** The default that v3 shows: true for the declared one, false for none, or this value. */
  readonly defaults?: Readonly<Record<string, boolean | { readonly value: unknown }>>
  /** Fields without a description upstream: in v3 their `$ref` has no `allOf` around it. */
  readonly undescribed?: readonly string[]
  /** The kinds of a struct when it is in the document of another group. */
  readonly kinds?: readonly { readonly group: string; readonly version: string; readonly kind: string }[]
  /** The response of a deletion, when it differs from what the declaration says. */
  readonly deletion?: "Status"
}

const NONE: readonly string[] = []
const ZERO = { value: 0 }
const EMPTY = { value: "" }
const NO_FIELDS = { value: {} }
const ACCESS_MODES = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]
const REAL_TIME_SIGNALS = [
  "SIGRTMAX",
  ...Array.from({ length: 14 }, (_, i) => `SIGRTMAX-${i + 1}`),
  "SIGRTMIN",
  ...Array.from({ length: 15 }, (_, i) => `SIGRTMIN+${i + 1}`),
]
const SIGNALS =
  "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ"
    .split(" ")
    .map((name) => `SIG${name}`)
    .concat(REAL_TIME_SIGNALS)
const RBD = { pool: true, user: true, keyring: true }
const SCALE_IO = { storageMode: true, fsType: true }
const SIDE_EFFECTS = ["None", "NoneOnDryRun", "Some", "Unknown"]
const WEBHOOK = {
  failurePolicy: ["Fail", "Ignore"],
  matchPolicy: ["Equivalent", "Exact"],
  sideEffects: SIDE_EFFECTS,
}

const OPERATIONS = {
  operations: ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"],
  scope: ["*", "Cluster", "Namespaced"],
}

/** By the name of the definition without `io.k8s.api.`. */
const MARKERS: Readonly<Record<string, Markers>> = {
  "admissionregistration.v1.MutatingAdmissionPolicySpec": {
    enums: { failurePolicy: WEBHOOK.failurePolicy, reinvocationPolicy: ["IfNeeded", "Never"] },
  },
  "admissionregistration.v1.Mutation": { enums: { patchType: ["ApplyConfiguration", "JSONPatch"] } },
  "admissionregistration.v1.MutatingWebhook": {
    enums: { ...WEBHOOK, reinvocationPolicy: ["IfNeeded", "Never"] },
    defaults: { namespaceSelector: false, objectSelector: false },
  },
  "admissionregistration.v1.ValidatingWebhook": {
    enums: WEBHOOK,
    defaults: { namespaceSelector: false, objectSelector: false },
  },
  "admissionregistration.v1.MatchResources": { enums: { matchPolicy: WEBHOOK.matchPolicy } },
  "admissionregistration.v1.NamedRuleWithOperations": { enums: OPERATIONS },
  "admissionregistration.v1.RuleWithOperations": { enums: OPERATIONS },
  "admissionregistration.v1.ValidatingAdmissionPolicyBinding": { required: { spec: true } },
  "admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec": {
    enums: { validationActions: ["Audit", "Deny", "Warn"] },
    defaults: { policyName: false },
  },
  "admissionregistration.v1.ValidatingAdmissionPolicySpec": { enums: { failurePolicy: WEBHOOK.failurePolicy } },
  "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy": { enums: { whenDeleted: NONE, whenScaled: NONE } },
  "apps.v1.StatefulSetSpec": { defaults: { persistentVolumeClaimRetentionPolicy: false } },
  "apps.v1.StatefulSetStatus": { required: { availableReplicas: false } },
  "authentication.v1.TokenRequest": { required: { spec: false } },
  "authentication.v1.TokenReviewSpec": { defaults: { token: false } },
  "authentication.v1.TokenRequestSpec": { required: { audiences: false } },
  "authentication.v1.TokenRequestStatus": { required: { token: false } },
  "core.v1.AzureDiskVolumeSource": {
    defaults: { cachingMode: true, fsType: true, kind: true, readOnly: { value: false } },
  },
  "core.v1.Container": { enums: { restartPolicy: NONE } },
  "core.v1.ContainerPort": { defaults: { protocol: true } },
  "core.v1.ContainerResizePolicy": { enums: { resourceName: NONE, restartPolicy: NONE } },
  "core.v1.ContainerRestartRule": { enums: { action: NONE }, defaults: { action: false } },
  "core.v1.ContainerRestartRuleOnExitCodes": { enums: { operator: NONE }, defaults: { operator: false } },
  "core.v1.ContainerStatus": { enums: { stopSignal: SIGNALS } },
  "core.v1.EphemeralContainer": { enums: { restartPolicy: NONE } },
  "core.v1.Event": { required: { metadata: true } },
  "core.v1.ImageVolumeStatus": { defaults: { imageRef: false } },
  "core.v1.ISCSIPersistentVolumeSource": { defaults: { iscsiInterface: true } },
  "core.v1.ISCSIVolumeSource": { defaults: { iscsiInterface: true } },
  "core.v1.Lifecycle": { enums: { stopSignal: SIGNALS } },
  "core.v1.ModifyVolumeStatus": { enums: { status: ["InProgress", "Infeasible", "Pending"] } },
  "core.v1.Namespace": { deletion: "Status" },
  "core.v1.NodeStatus": { enums: { phase: ["Pending", "Running", "Terminated"] } },
  "core.v1.PersistentVolumeClaimStatus": {
    enums: {
      accessModes: ACCESS_MODES,
      allocatedResourceStatuses: [
        "ControllerResizeInProgress",
        "ControllerResizeInfeasible",
        "NodeResizeInProgress",
        "NodeResizeInfeasible",
        "NodeResizePending",
      ],
    },
    mapTypes: { allocatedResourceStatuses: "granular" },
  },
  "core.v1.PodCertificateProjection": { defaults: { keyType: false, signerName: false } },
  "core.v1.PodSecurityContext": { enums: { seLinuxChangePolicy: NONE } },
  "core.v1.PodSpec": { defaults: { securityContext: false } },
  "core.v1.RBDPersistentVolumeSource": { defaults: RBD },
  "core.v1.RBDVolumeSource": { defaults: RBD },
  "core.v1.ReplicationControllerSpec": { defaults: { minReadySeconds: ZERO, replicas: true } },
  "core.v1.ScaleIOPersistentVolumeSource": { defaults: SCALE_IO },
  "core.v1.ScaleIOVolumeSource": { defaults: SCALE_IO },
  "core.v1.ServicePort": { defaults: { protocol: true } },
  "core.v1.ServiceSpec": { enums: { ipFamilies: ["", "IPv4", "IPv6"] } },
  "core.v1.VolumeMount": { enums: { recursiveReadOnly: NONE } },
  "networking.v1.IngressClassParametersReference": { enums: { scope: NONE } },
  "networking.v1.ParentReference": { defaults: { name: false, resource: false } },
  "policy.v1.PodDisruptionBudgetStatus": {
    required: { currentHealthy: false, desiredHealthy: false, disruptionsAllowed: false, expectedPods: false },
  },
  "rbac.v1.RoleRef": { required: { apiGroup: false } },
  "scheduling.v1.PriorityClass": { required: { value: false } },
  "scheduling.v1alpha2.PodGroup": { required: { spec: true } },
  "scheduling.v1alpha2.PodGroupSpec": { required: { schedulingPolicy: true }, defaults: { disruptionMode: true } },
  "scheduling.v1alpha2.PodGroupTemplate": { required: { schedulingPolicy: true } },
  "scheduling.v1alpha2.Workload": { required: { spec: true } },
  "storage.v1.CSIDriverSpec": { enums: { fsGroupPolicy: NONE, volumeLifecycleModes: NONE } },
  "autoscaling.v1.ScaleSpec": { defaults: { replicas: ZERO } },
  "core.v1.FileKeySelector": { defaults: { optional: { value: false } } },
  "core.v1.GRPCAction": { defaults: { service: EMPTY } },
  "core.v1.PersistentVolumeClaim": { kinds: [{ group: "", kind: "PersistentVolumeClaim", version: "v1" }] },
  "batch.v1.PodFailurePolicyOnPodConditionsPattern": { defaults: { status: EMPTY } },
  "flowcontrol.v1.FlowSchemaSpec": { defaults: { matchingPrecedence: ZERO } },
  "flowcontrol.v1.QueuingConfiguration": { defaults: { handSize: ZERO, queueLengthLimit: ZERO, queues: ZERO } },
  "networking.v1.IngressRule": { undescribed: ["http"] },
  "resource.v1.DeviceToleration": { defaults: { operator: true } },
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps": {
    undescribed: ["additionalItems", "additionalProperties", "example", "externalDocs", "items", "not"],
  },
  "io.k8s.apimachinery.pkg.apis.meta.v1.Status": { defaults: { metadata: NO_FIELDS } },
  "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup": { defaults: { preferredVersion: NO_FIELDS } },
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition": { required: { spec: true } },
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec": {
    required: { names: true },
  },
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ValidationRule": {
    enums: {
      reason: ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"],
    },
  },
  "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry": { enums: { operation: NONE } },
}

/** Returns the markers of a definition. */
export const markersOf = (definition: string): Markers => MARKERS[definition.replace(/^io\.k8s\.api\./, "")] ?? {}
