import type { PodSpec } from "../../polymorphic/pod.ts"
import { goTypeOf } from "../../polymorphic/pods-of.ts"
import { parseGroupVersion, type Unstructured } from "../../rest/json.ts"

const TEMPLATE = ["spec", "template", "spec"]
const PATHS: Readonly<Record<string, readonly string[]>> = {
  Pod: ["spec"],
  ReplicationController: TEMPLATE,
  "Deployment.apps": TEMPLATE,
  "DaemonSet.apps": TEMPLATE,
  "ReplicaSet.apps": TEMPLATE,
  "StatefulSet.apps": TEMPLATE,
  "Job.batch": TEMPLATE,
  "CronJob.batch": ["spec", "jobTemplate", ...TEMPLATE],
  "Deployment.extensions": TEMPLATE,
  "DaemonSet.extensions": TEMPLATE,
  "ReplicaSet.extensions": TEMPLATE,
}

/**
 * Returns the object with the spec of its pods changed. Source: kubectl pkg/polymorphichelpers/updatepodspec.go.
 * @throws Error for an object that has no pods
 */
export function withPodSpec(object: Unstructured, change: (spec: PodSpec) => PodSpec): Unstructured {
  const { kind = "", apiVersion = "" } = object
  const { group } = parseGroupVersion(apiVersion)
  const path = PATHS[group === "" ? kind : `${kind}.${group}`]
  if (path === undefined)
    throw new Error(`the object is not a pod or does not have a pod template: ${goTypeOf(object)}`)
  return changedAt(object, path, (spec) => change((spec ?? {}) as PodSpec)) as Unstructured
}

function changedAt(value: unknown, [step, ...rest]: readonly string[], change: (value: unknown) => unknown): unknown {
  if (step === undefined) return change(value)
  const object = (value ?? {}) as Readonly<Record<string, unknown>>
  return { ...object, [step]: changedAt(object[step], rest, change) }
}

/** Whether a name matches a pattern in which `*` is any text. Source: kubectl pkg/cmd/set/helper.go (selectString). */
export function matchesPattern(name: string, pattern: string): boolean {
  const words = pattern.split("*").map((word) => word.replace(/[.+?^${}()|[\]\\]/g, "\\$&"))
  return new RegExp(`^${words.join(".*")}$`, "s").test(name)
}
