import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { FeatureName, Features } from "../../../pkg/component/features.ts"
import { qualified } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { AdmissionPlugin } from "./admission.ts"

interface Field {
  /** The field names from the object down to the field; `[]` stands for every item of a list. */
  readonly path: readonly string[]
  /** Returns true for values that the field could have before the feature existed; they are kept. */
  readonly keeps?: (value: unknown) => boolean
  /** The struct that contains the field is removed too when it has no other field. */
  readonly takesHolder?: true
  /** What takes the place of a value: the default that objects show that do not have the field. */
  readonly becomes?: string | null
}

/** The fields of a pod's spec that belong to a feature. */
const OF_PODS: Readonly<Partial<Record<FeatureName, readonly Field[]>>> = {
  ClusterTrustBundleProjection: [{ path: ["volumes", "[]", "projected", "sources", "[]", "clusterTrustBundle"] }],
  ContainerRestartRules: [
    { path: ["containers", "[]", "restartPolicyRules"] },
    { path: ["containers", "[]", "restartPolicy"] },
    { path: ["initContainers", "[]", "restartPolicyRules"] },
    { path: ["initContainers", "[]", "restartPolicy"], keeps: (value) => value === "Always" },
  ],
  ContainerStopSignals: ["initContainers", "containers", "ephemeralContainers"].map((list) => ({
    path: [list, "[]", "lifecycle", "stopSignal"],
    takesHolder: true,
  })),
  EnvFiles: ["initContainers", "containers", "ephemeralContainers"].map((list) => ({
    path: [list, "[]", "env", "[]", "valueFrom", "fileKeyRef"],
  })),
  GenericWorkload: [{ path: ["schedulingGroup"] }],
  HostnameOverride: [{ path: ["hostnameOverride"] }],
  PodCertificateRequest: [{ path: ["volumes", "[]", "projected", "sources", "[]", "podCertificate"] }],
  PodLevelResources: [{ path: ["resources"] }],
}

/** Returns the path of the pod spec in objects of a kind; undefined when the kind has none. */
function podSpecOf(resource: Resource): readonly string[] | undefined {
  if (qualified(resource) === qualified(Pod)) return ["spec"]
  return resource.podTemplate === undefined ? undefined : [...resource.podTemplate.split("."), "spec"]
}

/** The status field of Deployments and ReplicaSets that has the number of pods that are ending. */
const TERMINATING: readonly Field[] = [{ path: ["status", "terminatingReplicas"] }]

/** The templates of PodGroups in a Workload. */
const TEMPLATE = ["spec", "podGroupTemplates", "[]"]

/** The fields of other kinds that belong to a feature. */
const OF_KINDS: Readonly<Partial<Record<FeatureName, Readonly<Record<string, readonly Field[]>>>>> = {
  CoordinatedLeaderElection: {
    "leases.coordination.k8s.io": [{ path: ["spec", "strategy"] }, { path: ["spec", "preferredHolder"] }],
  },
  DeploymentReplicaSetTerminatingReplicas: { "deployments.apps": TERMINATING, "replicasets.apps": TERMINATING },
  MaxUnavailableStatefulSet: {
    "statefulsets.apps": [{ path: ["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"] }],
  },
  TopologyAwareWorkloadScheduling: {
    "podgroups.scheduling.k8s.io": [{ path: ["spec", "schedulingConstraints"] }],
    "workloads.scheduling.k8s.io": [{ path: [...TEMPLATE, "schedulingConstraints"], becomes: null }],
  },
  WorkloadAwarePreemption: {
    "podgroups.scheduling.k8s.io": [
      { path: ["spec", "disruptionMode"], becomes: "Pod" },
      { path: ["spec", "priorityClassName"] },
      { path: ["spec", "priority"] },
    ],
    "workloads.scheduling.k8s.io": ["disruptionMode", "priorityClassName", "priority"].map((name) => ({
      path: [...TEMPLATE, name],
    })),
  },
}

/**
 * Removes the fields of disabled features from objects, unless the stored object has the field already. Returns
 * undefined when all features are enabled. Source: DropDisabledFields of upstream's strategies.
 */
export function disabledFields(features: Features): AdmissionPlugin | undefined {
  const off = (Object.keys(features) as FeatureName[]).filter((name) => !features[name])
  if (off.length === 0) return undefined
  const byResource = new WeakMap<Resource, readonly Field[]>()
  const fieldsFor = (resource: Resource): readonly Field[] => {
    let fields = byResource.get(resource)
    if (fields === undefined) byResource.set(resource, (fields = off.flatMap((name) => fieldsOf(resource, name))))
    return fields
  }
  return {
    name: "DisabledFields",
    operations: ["CREATE", "UPDATE"],
    admit({ resource, object, old }) {
      if (object === undefined) return undefined
      let left: unknown = object
      for (const field of fieldsFor(resource)) {
        const part = field.path[0]!
        // Most updates change only the status or the metadata, which have hardly any of these fields.
        if (partOf(object, part) === partOf(old, part)) continue
        if (old === undefined || !isUsed(old, field)) left = without(left, field)
      }
      return left === object ? undefined : (left as KubeObject)
    },
  }
}

/** Whether an object has the field. All that are stored have one with a default, whether their writers set it or not. */
const isUsed = (old: KubeObject, field: Field): boolean =>
  typeof field.becomes === "string" || without(old, field) !== old

const partOf = (object: KubeObject | undefined, name: string): unknown =>
  (object as Readonly<Record<string, unknown>> | undefined)?.[name]

function fieldsOf(resource: Resource, name: FeatureName): readonly Field[] {
  const spec = podSpecOf(resource)
  return [
    ...(OF_KINDS[name]?.[qualified(resource)] ?? []),
    ...(spec === undefined
      ? []
      : (OF_PODS[name] ?? []).map(({ path, ...rest }) => ({ path: [...spec, ...path], ...rest }))),
  ]
}

/**
 * Returns `value` without the field; `value` itself when it does not have the field; undefined when nothing else is in
 * it. `depth` is the index in `path` of the step to take.
 */
function without(value: unknown, field: Field, depth = 0): unknown {
  const { path, keeps, takesHolder, becomes } = field
  const step = path[depth]!
  if (step === "[]") {
    if (!Array.isArray(value)) return value
    let items: unknown[] | undefined
    for (let i = 0; i < value.length; i++) {
      const left = without(value[i], field, depth + 1)
      if (left !== value[i]) (items ??= [...(value as readonly unknown[])])[i] = left
    }
    return items ?? value
  }
  if (typeof value !== "object" || value === null) return value
  const inner = (value as Readonly<Record<string, unknown>>)[step]
  if (inner === undefined) return value
  const isLast = depth === path.length - 1
  const left = isLast ? (keeps?.(inner) === true ? inner : becomes) : without(inner, field, depth + 1)
  if (left === inner) return value
  const { [step]: _dropped, ...others } = value as Readonly<Record<string, unknown>>
  if (left !== undefined) return { ...value, [step]: left }
  return isLast && takesHolder === true && Object.keys(others).length === 0 ? undefined : others
}
