import type { KubeObject } from "../apimachinery/resource.ts"
import type { ObjectRef } from "./answer.ts"
import { controllerOf, type Ward } from "./doctor.ts"
import { refOf } from "./reading/kinds.ts"
import { command, type Command } from "./command.ts"

/** Kinds whose pod template a user edits, and the path of the pod's spec in them. */
const TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  Deployment: ["spec", "template", "spec"],
  StatefulSet: ["spec", "template", "spec"],
  DaemonSet: ["spec", "template", "spec"],
  ReplicaSet: ["spec", "template", "spec"],
  ReplicationController: ["spec", "template", "spec"],
  Job: ["spec", "template", "spec"],
  CronJob: ["spec", "jobTemplate", "spec", "template", "spec"],
  Pod: ["spec"],
}

/** What a user would edit to change a pod: the highest controller, or the pod itself. */
export interface Workload {
  readonly ref: ObjectRef
  /** Whether new pods are made when the workload is changed. */
  readonly replaces: boolean
}

export async function workloadOf(pod: KubeObject, { reader }: Ward): Promise<Workload> {
  let object = pod
  // Owners are few; the bound keeps a circle of owners from being followed for ever.
  for (let depth = 0; depth < 5; depth++) {
    const owner = controllerOf(object)
    const kind = owner === undefined ? undefined : await reader.kindOf(owner)
    if (owner === undefined || kind === undefined || TEMPLATES[owner.kind] === undefined) break
    const found = await reader.get(kind, owner.namespace, owner.name)
    if (found === undefined) break
    object = found
  }
  const ref = refOf(object)
  return { ref, replaces: ["Deployment", "StatefulSet", "DaemonSet"].includes(ref.kind) }
}

/** Returns how commands name an object: `deployment/web -n team`. */
export const wordsOf = ({ kind, name, namespace }: ObjectRef): Command =>
  command`${`${kind.toLowerCase()}/${name}`}${namespace === undefined ? [] : command` -n ${namespace}`}`

/** Returns the command that merges a part into the pod spec of a workload. */
export function patchCommand({ ref }: Workload, podSpec: object): Command {
  const body = (TEMPLATES[ref.kind] ?? []).toReversed().reduce<object>((inner, key) => ({ [key]: inner }), podSpec)
  return command`kubectl patch ${wordsOf(ref)} --type=strategic -p ${JSON.stringify(body)}`
}
