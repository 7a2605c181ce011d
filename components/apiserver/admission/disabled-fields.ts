import type { FeatureName, Features } from "../../../pkg/component/features.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { AdmissionPlugin } from "./admission.ts"

interface Field {
  /** Names from the outside in; `[]` stands for every item of a list. */
  readonly path: readonly string[]
  /** Values that there were before the feature. */
  readonly keeps?: (value: unknown) => boolean
}

/** Fields of a pod's spec that come with a feature. */
const OF_PODS: Readonly<Partial<Record<FeatureName, readonly Field[]>>> = {
  ContainerRestartRules: [
    { path: ["containers", "[]", "restartPolicyRules"] },
    { path: ["containers", "[]", "restartPolicy"] },
    { path: ["initContainers", "[]", "restartPolicyRules"] },
    { path: ["initContainers", "[]", "restartPolicy"], keeps: (value) => value === "Always" },
  ],
  EnvFiles: ["initContainers", "containers", "ephemeralContainers"].map((list) => ({
    path: [list, "[]", "env", "[]", "valueFrom", "fileKeyRef"],
  })),
  HostnameOverride: [{ path: ["hostnameOverride"] }],
  PodLevelResources: [{ path: ["resources"] }],
}

/** Where a kind has the spec of a pod. */
const POD_SPECS: Readonly<Record<string, readonly string[]>> = {
  pods: ["spec"],
  podtemplates: ["template", "spec"],
  replicationcontrollers: ["spec", "template", "spec"],
  "replicasets.apps": ["spec", "template", "spec"],
  "deployments.apps": ["spec", "template", "spec"],
  "daemonsets.apps": ["spec", "template", "spec"],
  "statefulsets.apps": ["spec", "template", "spec"],
  "jobs.batch": ["spec", "template", "spec"],
  "cronjobs.batch": ["spec", "jobTemplate", "spec", "template", "spec"],
}

/** Fields of other kinds. */
const OF_KINDS: Readonly<Partial<Record<FeatureName, Readonly<Record<string, readonly Field[]>>>>> = {
  MaxUnavailableStatefulSet: {
    "statefulsets.apps": [{ path: ["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"] }],
  },
}

/**
 * Takes away what belongs to features that are off, as if the API had no such fields; what an object has already it keeps. Undefined where no feature is off.
 * Source: DropDisabledFields of upstream's strategies.
 */
export function disabledFields(features: Features): AdmissionPlugin | undefined {
  const off = (Object.keys(features) as FeatureName[]).filter((name) => !features[name])
  if (off.length === 0) return undefined
  return {
    name: "DisabledFields",
    operations: ["CREATE", "UPDATE"],
    admit({ resource, object, old }) {
      if (object === undefined) return undefined
      let left: unknown = object
      for (const field of off.flatMap((name) => fieldsOf(resource, name)))
        if (old === undefined || without(old, field) === old) left = without(left, field)
      return left === object ? undefined : (left as KubeObject)
    },
  }
}

function fieldsOf({ group, plural }: Resource, name: FeatureName): readonly Field[] {
  const kind = group === "" ? plural : `${plural}.${group}`
  const spec = POD_SPECS[kind]
  return [
    ...(OF_KINDS[name]?.[kind] ?? []),
    ...(spec === undefined
      ? []
      : (OF_PODS[name] ?? []).map(({ path, ...rest }) => ({ path: [...spec, ...path], ...rest }))),
  ]
}

/** `value` without the field, or `value` itself where it has none. */
function without(value: unknown, { path: [first, ...rest], keeps }: Field): unknown {
  if (first === "[]") {
    if (!Array.isArray(value)) return value
    const items = value.map((item: unknown) => without(item, { path: rest, ...(keeps === undefined ? {} : { keeps }) }))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (typeof value !== "object" || value === null || first === undefined) return value
  const { [first]: inner, ...others } = value as Readonly<Record<string, unknown>>
  if (inner === undefined) return value
  if (rest.length === 0) return keeps?.(inner) === true ? value : others
  const left = without(inner, { path: rest, ...(keeps === undefined ? {} : { keeps }) })
  return left === inner ? value : { ...value, [first]: left }
}
