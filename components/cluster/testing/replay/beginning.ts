/**
 * The state with which a replay begins. Before the recorded time, only the kubelets run, and start what the recording
 * says to run; then everything is as recorded, and controllers and scheduler begin.
 */
import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { RecordedObject } from "../../../../pkg/replay/format.ts"
import { isPodReady } from "../../../../pkg/pods/pod-state.ts"

/** Returns a recorded object as it is while the kubelets start: their pods have not been started yet. */
export function beforeStart({ resource, object }: RecordedObject): KubeObject {
  if (resource !== "pods" || object.apiVersion !== "v1") return object
  const pod = object as Pod
  if (!isHeld(pod)) return object
  const { deletionTimestamp: _, deletionGracePeriodSeconds: __, ...metadata } = pod.metadata
  const conditions = pod.status.conditions?.filter(({ type }) => type === "PodScheduled")
  const { qosClass } = pod.status
  const status = {
    phase: "Pending",
    ...(conditions === undefined ? {} : { conditions }),
    ...(qosClass === undefined ? {} : { qosClass }),
  }
  return { ...pod, metadata, status } as unknown as KubeObject
}

/** Whether a node runs a pod, or is to. */
const isHeld = ({ spec, status }: Pod): boolean =>
  (spec.nodeName ?? "") !== "" && status.phase !== "Succeeded" && status.phase !== "Failed"

/**
 * Returns what an object must be at the recorded beginning, given what it is now: as recorded, but for what the
 * kubelets say of their nodes and pods where that is alike, since it names their own containers.
 */
export function atBegin(recorded: KubeObject, now: KubeObject | undefined): KubeObject {
  if (now === undefined) return recorded
  if (recorded.kind === Pod.kind && recorded.apiVersion === "v1") {
    const [then, is] = [recorded as Pod, now as Pod]
    const alike = then.status.phase === is.status.phase && isPodReady(then) === isPodReady(is)
    return alike ? ({ ...recorded, status: is.status } as KubeObject) : recorded
  }
  if (recorded.kind === Node.kind && recorded.apiVersion === "v1") {
    const [then, is] = [recorded as Node, now as Node]
    return isReady(then) === isReady(is) ? ({ ...recorded, status: is.status } as KubeObject) : recorded
  }
  return recorded
}

const isReady = ({ status }: Node): boolean =>
  status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true
