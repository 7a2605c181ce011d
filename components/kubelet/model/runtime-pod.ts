import { allByName, byName } from "../../../pkg/cache/by-name.ts"
import { canonicalAddress, familyOf, type Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { ContainerStatus as CriContainerStatus } from "../../../pkg/cri/container.ts"
import type { LinuxContainerResources } from "../../../pkg/cri/resources.ts"
import type { PodSandboxStatus } from "../../../pkg/cri/sandbox.ts"
import { CONTAINER_NAME, POD_NAME, POD_NAMESPACE, POD_UID, readNotes, type ContainerNotes } from "./labels.ts"
import type { PodIdentity } from "./pod-identity.ts"

/** A sandbox in the kubelet's cache. Times are milliseconds since the epoch. */
export interface RuntimeSandbox {
  readonly id: string
  readonly pod: PodIdentity
  readonly attempt: number
  readonly ready: boolean
  readonly createdAt: number
  /** Addresses, the primary one first; empty on the node's network. */
  readonly ips: readonly string[]
  readonly hostNetwork: boolean
}

/** A run of a container. A restarted container is another run, with `notes.restartCount` one higher. */
export interface RuntimeContainer {
  readonly id: string
  readonly pod: PodIdentity
  readonly name: string
  readonly sandboxId: string
  readonly state: "created" | "running" | "exited" | "unknown"
  readonly createdAt: number
  readonly startedAt: number
  readonly finishedAt: number
  readonly exitCode: number
  readonly reason: string
  /** The termination message, or the message of the runtime. */
  readonly message: string
  readonly image: string
  readonly imageRef: string
  readonly notes: ContainerNotes
  /** Absolute path of the log. */
  readonly logPath: string
  readonly user:
    | { readonly uid: number; readonly gid: number; readonly supplementalGroups: readonly number[] }
    | undefined
  readonly resources: LinuxContainerResources | undefined
}

/** The state of one pod in the runtime. Immutable. */
export interface RuntimePod {
  readonly identity: PodIdentity
  /** Newest first. */
  readonly sandboxes: readonly RuntimeSandbox[]
  /** Newest first. */
  readonly containers: readonly RuntimeContainer[]
}

export const NO_RUNTIME_POD = (identity: PodIdentity): RuntimePod => ({ identity, sandboxes: [], containers: [] })

/** Returns the newest run of a container. */
export const latest = (pod: RuntimePod, name: string): RuntimeContainer | undefined => byName(pod.containers, name)

/** Returns the newest run that has ended. */
export const latestExited = (pod: RuntimePod, name: string): RuntimeContainer | undefined =>
  allByName(pod.containers, name).find(({ state }) => state === "exited")

export const isRunning = (pod: RuntimePod): boolean =>
  hasRunningContainers(pod) || pod.sandboxes.some(({ ready }) => ready)

export const hasRunningContainers = ({ containers }: RuntimePod): boolean =>
  containers.some(({ state }) => state === "running")

/** Returns the pod that the labels name, `known` if it is that; undefined for containers of other programs. */
function identityFrom(
  labels: Readonly<Record<string, string>>,
  known: PodIdentity | undefined,
): PodIdentity | undefined {
  const uid = labels[POD_UID]
  if (uid === undefined) return undefined
  if (uid === known?.uid) return known
  return { uid, namespace: labels[POD_NAMESPACE] ?? "", name: labels[POD_NAME] ?? "" }
}

/** `primary` is the family of the node's main address, `known` the identity of the pod if it is known. */
export function sandboxFrom(
  status: PodSandboxStatus,
  primary: Family,
  known?: PodIdentity,
): RuntimeSandbox | undefined {
  const pod = identityFrom(status.labels, known)
  if (pod === undefined) return undefined
  return {
    id: status.id,
    pod,
    attempt: status.metadata?.attempt ?? 0,
    ready: status.state === "SANDBOX_READY",
    createdAt: Math.round(status.createdAt / 1e6),
    ips: podIps(status, primary),
    hostNetwork: status.linux?.namespaces?.options?.network === "NODE",
  }
}

/**
 * The first address of the primary family and the first of the other one, whatever the order of the runtime's. Source:
 * sortPodIPs in pkg/kubelet/kubelet_pods.go.
 */
function podIps({ network }: PodSandboxStatus, primary: Family): readonly string[] {
  const all = [network?.ip ?? "", ...(network?.additionalIps ?? []).map(({ ip }) => ip)].filter((ip) => ip !== "")
  const [first = [], second = []] = [true, false].map((isPrimary) =>
    all.filter((ip) => (familyOf(ip) === primary) === isPrimary),
  )
  return [...first.slice(0, 1), ...second.slice(0, 1)].map(canonicalAddress)
}

const STATES = {
  CONTAINER_CREATED: "created",
  CONTAINER_RUNNING: "running",
  CONTAINER_EXITED: "exited",
  CONTAINER_UNKNOWN: "unknown",
} as const

/**
 * Returns when a container ended, in nanoseconds since the epoch; 0 while it has not. One that never ran may have no
 * time of its end, although the backoff of its restarts counts from it.
 */
const endOf = ({ state, createdAt, finishedAt }: CriContainerStatus): number =>
  state === "CONTAINER_EXITED" && finishedAt <= 0 ? createdAt : Math.max(0, finishedAt)

/**
 * `sandboxId` is not in the runtime's status; `message` is the termination message, if there is one; `known` is the
 * identity of the pod if it is known.
 */
export function containerFrom(
  status: CriContainerStatus,
  sandboxId: string,
  message: string | undefined,
  known?: PodIdentity,
): RuntimeContainer | undefined {
  const pod = identityFrom(status.labels, known)
  if (pod === undefined) return undefined
  return {
    id: status.id,
    pod,
    name: status.labels[CONTAINER_NAME] ?? status.metadata?.name ?? "",
    sandboxId,
    state: STATES[status.state],
    createdAt: Math.round(status.createdAt / 1e6),
    startedAt: Math.round(status.startedAt / 1e6),
    finishedAt: Math.round(endOf(status) / 1e6),
    exitCode: status.exitCode,
    reason: status.reason,
    message: message ?? status.message,
    image: status.image?.image ?? "",
    imageRef: status.imageRef,
    notes: readNotes(status.annotations),
    logPath: status.logPath,
    user: status.user?.linux,
    resources: status.resources?.linux,
  }
}
