import type { ContainerConfig, ContainerStatus } from "../../../../../pkg/cri/container.ts"

/** What the status of a container is made of; times are in milliseconds since the epoch. */
export interface ContainerFacts extends Pick<ContainerStatus, "id" | "state" | "exitCode" | "reason" | "logPath"> {
  readonly name: string
  readonly attempt: number
  readonly createdAt: number
  readonly startedAt: number
  readonly finishedAt: number
  readonly image: string
  readonly config: Pick<ContainerConfig, "image" | "labels" | "annotations" | "mounts" | "stopSignal">
}

/** Returns the status of a container as a runtime tells it. */
export function statusOf(container: ContainerFacts, imageId: string, user: ContainerStatus["user"]): ContainerStatus {
  const { config, image } = container
  const nanos = (ms: number) => ms * 1e6
  return {
    id: container.id,
    metadata: { name: container.name, attempt: container.attempt },
    state: container.state,
    createdAt: nanos(container.createdAt),
    startedAt: nanos(container.startedAt),
    finishedAt: nanos(container.finishedAt),
    exitCode: container.exitCode,
    image: {
      image,
      annotations: {},
      userSpecifiedImage: config.image?.userSpecifiedImage ?? "",
      runtimeHandler: "",
      imageRef: imageId,
    },
    imageRef: imageId,
    reason: container.reason,
    message: "",
    labels: config.labels ?? {},
    annotations: config.annotations ?? {},
    mounts: (config.mounts ?? []) as ContainerStatus["mounts"],
    logPath: container.logPath,
    resources: undefined,
    imageId,
    user,
    stopSignal: config.stopSignal ?? "SIGNAL_RUNTIME_DEFAULT",
  }
}

/** The user of most containers. */
const ROOT: ContainerStatus["user"] = { linux: { uid: 0, gid: 0, supplementalGroups: [] } }

/** Returns the user of a container with these settings. */
export function userOf(security: NonNullable<ContainerConfig["linux"]>["securityContext"]): ContainerStatus["user"] {
  const { runAsUser, runAsGroup, supplementalGroups = [] } = security ?? {}
  const linux = { uid: runAsUser?.value ?? 0, gid: runAsGroup?.value ?? 0, supplementalGroups: [...supplementalGroups] }
  return linux.uid === 0 && linux.gid === 0 && linux.supplementalGroups.length === 0 ? ROOT : { linux }
}
