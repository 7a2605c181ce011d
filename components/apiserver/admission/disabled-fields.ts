import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { FeatureName, Features } from "../../../pkg/component/features.ts"
import { qualified } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { AdmissionPlugin } from "./admission.ts"

interface Field {
  /** Names from the outside in; `[]` stands for every item of a list. */
  readonly path: readonly string[]
  /** Values that there were before the feature. */
  readonly keeps?: (value: unknown) => boolean
  /** The struct that holds the field goes with it when it has no other. */
  readonly takesHolder?: true
}

/** Fields of a pod's spec that come with a feature. */
const OF_PODS: Readonly<Partial<Record<FeatureName, readonly Field[]>>> = {
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
  HostnameOverride: [{ path: ["hostnameOverride"] }],
  PodLevelResources: [{ path: ["resources"] }],
}

/** Where a kind has the spec of a pod; undefined where it has none. */
function podSpecOf(resource: Resource): readonly string[] | undefined {
  if (qualified(resource) === qualified(Pod)) return ["spec"]
  return resource.podTemplate === undefined ? undefined : [...resource.podTemplate.split("."), "spec"]
}

/** Fields of other kinds. */
const OF_KINDS: Readonly<Partial<Record<FeatureName, Readonly<Record<string, readonly Field[]>>>>> = {
  MaxUnavailableStatefulSet: {
    "statefulsets.apps": [{ path: ["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"] }],
  },
}

/**
 * Takes away what belongs to features that are off, as if the API had no such fields; what an object has already it
 * keeps. Undefined where no feature is off. Source: DropDisabledFields of upstream's strategies.
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
      for (const field of fieldsFor(resource))
        if (old === undefined || without(old, field) === old) left = without(left, field)
      return left === object ? undefined : (left as KubeObject)
    },
  }
}

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
 * `value` without the field, or `value` itself where it has none; undefined where nothing of it is left. `depth` counts
 * the steps of the path taken.
 */
function without(value: unknown, field: Field, depth = 0): unknown {
  const { path, keeps, takesHolder } = field
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
  const left = isLast ? (keeps?.(inner) === true ? inner : undefined) : without(inner, field, depth + 1)
  if (left === inner) return value
  const { [step]: _dropped, ...others } = value as Readonly<Record<string, unknown>>
  if (left !== undefined) return { ...value, [step]: left }
  return isLast && takesHolder === true && Object.keys(others).length === 0 ? undefined : others
}
