/**
 * Labels and annotations of sandboxes and containers, by which they are adopted after a restart of the kubelet. Source:
 * pkg/kubelet/types/labels.go, pkg/kubelet/kuberuntime/labels.go.
 */
import { createHash } from "node:crypto"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { AnyContainer } from "./containers.ts"

export const POD_NAME = "io.kubernetes.pod.name"
export const POD_NAMESPACE = "io.kubernetes.pod.namespace"
export const POD_UID = "io.kubernetes.pod.uid"
export const CONTAINER_NAME = "io.kubernetes.container.name"
const GRACE_PERIOD = "io.kubernetes.pod.terminationGracePeriod"
const HASH = "io.kubernetes.container.hash"
const RESTART_COUNT = "io.kubernetes.container.restartCount"
const MESSAGE_PATH = "io.kubernetes.container.terminationMessagePath"
const MESSAGE_POLICY = "io.kubernetes.container.terminationMessagePolicy"
const PRE_STOP = "io.kubernetes.container.preStopHandler"
const PORTS = "io.kubernetes.container.ports"

/** The source of a static pod, and the hash of its manifest. Source: pkg/kubelet/types/pod_update.go. */
export const CONFIG_SOURCE = "kubernetes.io/config.source"
export const CONFIG_HASH = "kubernetes.io/config.hash"
export const CONFIG_SEEN = "kubernetes.io/config.seen"
export const CONFIG_MIRROR = "kubernetes.io/config.mirror"

export const isStaticPod = (pod: Pod): boolean => {
  const source = pod.metadata.annotations?.[CONFIG_SOURCE]
  return source !== undefined && source !== "api"
}
export const isMirrorPod = (pod: Pod): boolean => pod.metadata.annotations?.[CONFIG_MIRROR] !== undefined

export const podLabels = (pod: Pod): Record<string, string> => ({
  ...pod.metadata.labels,
  [POD_NAME]: pod.metadata.name ?? "",
  [POD_NAMESPACE]: pod.metadata.namespace ?? "",
  [POD_UID]: pod.metadata.uid ?? "",
})

export const containerLabels = (pod: Pod, container: AnyContainer): Record<string, string> => ({
  [CONTAINER_NAME]: container.name,
  [POD_NAME]: pod.metadata.name ?? "",
  [POD_NAMESPACE]: pod.metadata.namespace ?? "",
  [POD_UID]: pod.metadata.uid ?? "",
})

export const containerAnnotations = (
  pod: Pod,
  container: AnyContainer,
  restartCount: number,
): Record<string, string> => ({
  [HASH]: containerHash(container),
  [RESTART_COUNT]: String(restartCount),
  [MESSAGE_PATH]: container.terminationMessagePath,
  [MESSAGE_POLICY]: container.terminationMessagePolicy,
  [GRACE_PERIOD]: String(pod.spec.terminationGracePeriodSeconds),
  ...(container.lifecycle?.preStop === undefined ? {} : { [PRE_STOP]: JSON.stringify(container.lifecycle.preStop) }),
  ...(container.ports === undefined || container.ports.length === 0
    ? {}
    : { [PORTS]: JSON.stringify(container.ports) }),
})

/**
 * Returns a hash of the name and image: a running container with another hash is replaced. Source:
 * kubecontainer.HashContainer.
 */
export const containerHash = ({ name, image = "" }: AnyContainer): string =>
  createHash("sha256").update(`${name}\0${image}`).digest("hex").slice(0, 16)

export interface ContainerNotes {
  readonly hash: string
  readonly restartCount: number
  readonly messagePath: string
  readonly messagePolicy: string
  readonly graceSeconds: number
}

/** Parses the annotations that `containerAnnotations` wrote. */
export const readNotes = (annotations: Readonly<Record<string, string>>): ContainerNotes => ({
  hash: annotations[HASH] ?? "",
  restartCount: Number(annotations[RESTART_COUNT] ?? 0),
  messagePath: annotations[MESSAGE_PATH] ?? "",
  messagePolicy: annotations[MESSAGE_POLICY] ?? "File",
  graceSeconds: Number(annotations[GRACE_PERIOD] ?? 30),
})
