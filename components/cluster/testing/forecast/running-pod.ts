import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerStateTerminated, ContainerStatus } from "../../../../pkg/api/core/v1/pod/podstatus.ts"
import { containerNamed } from "../../../kubelet/model/containers.ts"
import { containerAnnotations, containerLabels, isMirrorPod, podLabels } from "../../../kubelet/model/labels.ts"
import { containerLogPath } from "../../../kubelet/model/pod-paths.ts"
import type { RunningPod, RunOfContainer } from "../../../kubelet/runtime/simulated/containers/running-pod.ts"

/**
 * Returns what runs of a pod; undefined where that cannot be told: it has not begun, has ended, or comes from a file of
 * its node.
 */
export function runningPod(pod: Pod): RunningPod | undefined {
  const { metadata, spec, status } = pod
  const ips = (status.podIPs ?? []).flatMap(({ ip = "" }) => (ip === "" ? [] : [ip]))
  if (isMirrorPod(pod) || ips.length === 0 || (status.phase !== "Running" && status.phase !== "Pending"))
    return undefined
  const { name = "", namespace = "", uid = "" } = metadata
  return {
    config: { metadata: { name, namespace, uid, attempt: 0 }, labels: podLabels(pod), annotations: {} },
    hostNetwork: spec.hostNetwork === true,
    ips,
    createdAt: Date.parse(status.startTime ?? metadata.creationTimestamp ?? ""),
    containers: [
      ...(status.initContainerStatuses ?? []),
      ...(status.containerStatuses ?? []),
      ...(status.ephemeralContainerStatuses ?? []),
    ].flatMap((each) => runOf(pod, each) ?? []),
  }
}

function runOf(pod: Pod, status: ContainerStatus): RunOfContainer | undefined {
  const { name, containerID = "", restartCount, state, lastState } = status
  const found = containerNamed(pod, name)
  const { running, waiting } = state
  // One that waits for its next start has ended before.
  const end: ContainerStateTerminated | undefined = state.terminated ?? (waiting && lastState.terminated)
  const startedAt = running?.startedAt ?? end?.startedAt
  if (found === undefined || containerID === "" || typeof startedAt !== "string") return undefined
  const { container } = found
  const user = status.user?.linux
  return {
    id: idOf(containerID),
    imageId: status.imageID,
    container,
    isReady: status.ready,
    isLasting: pod.spec.restartPolicy === "Always" && found.type !== "init",
    startedAt: Date.parse(startedAt),
    end:
      end === undefined
        ? undefined
        : {
            exitCode: end.exitCode ?? 0,
            reason: end.reason ?? "",
            finishedAt: Date.parse(end.finishedAt ?? startedAt),
          },
    config: {
      metadata: { name, attempt: restartCount },
      image: { image: status.imageID, userSpecifiedImage: container.image ?? "" },
      command: container.command ?? [],
      args: container.args ?? [],
      envs: (container.env ?? []).flatMap(({ name: key, value }) => (value === undefined ? [] : [{ key, value }])),
      labels: containerLabels(pod, container),
      annotations: containerAnnotations(pod, container, restartCount),
      logPath: containerLogPath(name, restartCount),
      ...(user === undefined
        ? {}
        : {
            linux: {
              securityContext: {
                runAsUser: { value: user.uid },
                runAsGroup: { value: user.gid },
                supplementalGroups: user.supplementalGroups ?? [],
              },
            },
          }),
    },
  }
}

/** `containerd://4f1c` is 4f1c. */
const idOf = (containerID: string): string => containerID.slice(containerID.lastIndexOf("/") + 1)
