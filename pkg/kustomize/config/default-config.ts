/** The fields that transformers change without a configuration. Source: kustomize konfig/builtinpluginconsts. */
import type { Gvk } from "../resource/gvk.ts"
import { sortedByKind, type FieldSpec } from "./field-spec.ts"
import { NAME_REFERENCES } from "./name-references.ts"
import type { TransformerConfig } from "./transformer-config.ts"
import { VAR_REFERENCES } from "./var-references.ts"

export const spec = (path: string, gvk: Partial<Gvk> = {}, create = false): FieldSpec => ({
  group: "",
  version: "",
  kind: "",
  ...gvk,
  path,
  create,
})
const created = (path: string, gvk: Partial<Gvk> = {}): FieldSpec => spec(path, gvk, true)

const CONTROLLER: Partial<Gvk> = { version: "v1", kind: "ReplicationController" }
const JOB: Partial<Gvk> = { group: "batch", kind: "Job" }
const CRON_JOB: Partial<Gvk> = { group: "batch", kind: "CronJob" }
const STATEFUL_SET: Partial<Gvk> = { group: "apps", kind: "StatefulSet" }

/** Returns the fields of metadata in objects and in their templates. */
const metadataSpecs = (field: "labels" | "annotations", statefulSet: Partial<Gvk>): readonly FieldSpec[] => [
  created(`metadata/${field}`),
  created(`spec/template/metadata/${field}`, CONTROLLER),
  ...["Deployment", "ReplicaSet", "DaemonSet"].map((kind) => created(`spec/template/metadata/${field}`, { kind })),
  created(`spec/template/metadata/${field}`, statefulSet),
  ...(field === "labels" ? [created("spec/volumeClaimTemplates[]/metadata/labels", statefulSet)] : []),
  created(`spec/template/metadata/${field}`, JOB),
  created(`spec/jobTemplate/metadata/${field}`, CRON_JOB),
  created(`spec/jobTemplate/spec/template/metadata/${field}`, CRON_JOB),
]

const affinitySpecs = (kind: string): readonly FieldSpec[] => {
  const gvk = { group: "apps", kind }
  const affinities = ["podAffinity", "podAntiAffinity"].flatMap((affinity) => [
    `affinity/${affinity}/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels`,
    `affinity/${affinity}/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels`,
  ])
  return [...affinities, "topologySpreadConstraints/labelSelector/matchLabels"].map((path) =>
    spec(`spec/template/spec/${path}`, gvk),
  )
}

const TEMPLATE_LABELS = metadataSpecs("labels", STATEFUL_SET)
const NETWORK_POLICY: Partial<Gvk> = { group: "networking.k8s.io", kind: "NetworkPolicy" }

const COMMON_LABELS: readonly FieldSpec[] = [
  created("spec/selector", { version: "v1", kind: "Service" }),
  created("spec/selector", CONTROLLER),
  created("spec/selector/matchLabels", { kind: "Deployment" }),
  ...affinitySpecs("Deployment"),
  created("spec/selector/matchLabels", { kind: "ReplicaSet" }),
  created("spec/selector/matchLabels", { kind: "DaemonSet" }),
  created("spec/selector/matchLabels", STATEFUL_SET),
  ...affinitySpecs("StatefulSet"),
  spec("spec/selector/matchLabels", JOB),
  spec("spec/jobTemplate/spec/selector/matchLabels", CRON_JOB),
  spec("spec/selector/matchLabels", { group: "policy", kind: "PodDisruptionBudget" }),
  spec("spec/podSelector/matchLabels", NETWORK_POLICY),
  spec("spec/ingress/from/podSelector/matchLabels", NETWORK_POLICY),
  spec("spec/egress/to/podSelector/matchLabels", NETWORK_POLICY),
  ...TEMPLATE_LABELS,
]

const IMAGE_PATHS = ["containers[]/image", "initContainers[]/image", "volumes[]/image/reference"]

export const DEFAULT_CONFIG: TransformerConfig = {
  namePrefix: [spec("metadata/name")],
  nameSuffix: [spec("metadata/name")],
  namespace: sortedByKind([
    created("metadata/name", { kind: "Namespace" }),
    created("spec/service/namespace", { group: "apiregistration.k8s.io", kind: "APIService" }),
    spec("spec/conversion/webhook/clientConfig/service/namespace", {
      group: "apiextensions.k8s.io",
      kind: "CustomResourceDefinition",
    }),
  ]),
  commonLabels: sortedByKind(COMMON_LABELS),
  labels: [],
  templateLabels: sortedByKind(TEMPLATE_LABELS),
  commonAnnotations: sortedByKind(metadataSpecs("annotations", { kind: "StatefulSet" })),
  nameReference: sortedByKind(NAME_REFERENCES),
  varReference: sortedByKind(VAR_REFERENCES),
  images: ["spec", "spec/template/spec"].flatMap((pod) => IMAGE_PATHS.map((path) => created(`${pod}/${path}`))),
  replicas: sortedByKind(
    ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"].map((kind) =>
      created("spec/replicas", { kind }),
    ),
  ),
}
