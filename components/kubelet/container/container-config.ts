import { join } from "node:path"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerConfig, Device, Mount } from "../../../pkg/cri/container.ts"
import type { Image } from "../../../pkg/cri/image.ts"
import type { LinuxContainerResources } from "../../../pkg/cri/resources.ts"
import type { AnyContainer } from "../model/containers.ts"
import type { KubeletConfig } from "../model/config.ts"
import { tuningOf } from "../model/tuning.ts"
import { containerAnnotations, containerLabels } from "../model/labels.ts"
import { containerLogPath } from "../model/pod-paths.ts"
import { effectiveResources } from "../model/effective-resources.ts"
import { CPU_PERIOD, cpuQuota, cpuShares, oomScoreAdj } from "../model/qos.ts"
import type { UserNamespaceOptions } from "../security/user-namespaces.ts"
import { containerSecurity } from "../security/security-context.ts"
import type { EnvironmentVariable } from "../model/environment-variable.ts"

export interface ContainerRequest {
  readonly pod: Pod
  readonly container: AnyContainer
  readonly attempt: number
  readonly image: Image
  readonly config: KubeletConfig
  readonly environment: readonly EnvironmentVariable[]
  /** Replaces `$(VAR)` in command and args. @throws StartError */
  readonly expand: (texts: readonly string[]) => readonly string[]
  readonly mounts: readonly Mount[]
  readonly devices: readonly Device[]
  /** Names of CDI devices: `vendor.com/class=name`. */
  readonly cdiDevices: readonly string[]
  /** Annotations for the runtime, beside the kubelet's own. */
  readonly annotations: Readonly<Record<string, string>>
  readonly memoryCapacity: number
  /** For an ephemeral container that shares the processes of another one. */
  readonly targetContainerId?: string | undefined
  /** The ids of a pod with `hostUsers: false`. */
  readonly users?: UserNamespaceOptions | undefined
}

/** Source: pkg/kubelet/kuberuntime/kuberuntime_container.go generateContainerConfig. @throws StartError */
export function containerConfig(request: ContainerRequest): ContainerConfig {
  const { pod, container, attempt, image, config, environment, expand, devices, targetContainerId, users } = request
  const stopSignal = container.lifecycle?.stopSignal
  return {
    metadata: { name: container.name, attempt },
    image: { image: image.id, userSpecifiedImage: container.image ?? "" },
    command: expand(container.command ?? []),
    args: expand(container.args ?? []),
    workingDir: container.workingDir ?? "",
    envs: environment,
    mounts: users === undefined ? request.mounts : request.mounts.map((mount) => idMapped(mount, users)),
    devices,
    cdiDevices: request.cdiDevices.map((name) => ({ name })),
    labels: containerLabels(pod, container),
    annotations: { ...request.annotations, ...containerAnnotations(pod, container, attempt) },
    logPath: containerLogPath(container.name, attempt),
    stdin: container.stdin === true,
    stdinOnce: container.stdinOnce === true,
    tty: container.tty === true,
    linux: {
      resources: containerResources(pod, container, request.memoryCapacity),
      securityContext: containerSecurity({
        pod,
        container,
        image,
        seccompFolder: join(config.root, "seccomp"),
        seccompDefault: tuningOf(config).seccompDefault,
        targetContainerId,
        users,
      }),
    },
    ...(stopSignal === undefined ? {} : { stopSignal: signalOf(stopSignal) }),
  }
}

/**
 * Shows files of the host's root as those of the container's. Source: kuberuntime_container_linux.go
 * applyPlatformSpecificContainerConfig.
 */
const idMapped = (mount: Mount, { uids, gids }: UserNamespaceOptions): Mount => ({
  ...mount,
  uidMappings: uids,
  gidMappings: gids,
})

/** Source: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go generateLinuxContainerResources. */
export function containerResources(pod: Pod, container: AnyContainer, memoryCapacity: number): LinuxContainerResources {
  const { cpu, memory } = effectiveResources(pod.spec, container)
  return {
    cpuShares: cpuShares(container.resources.requests?.["cpu"] === undefined ? cpu.limit : cpu.request),
    cpuPeriod: CPU_PERIOD,
    cpuQuota: cpuQuota(cpu.limit),
    ...(memory.limit === 0 ? {} : { memoryLimitInBytes: memory.limit }),
    oomScoreAdj: oomScoreAdj(pod, container, memoryCapacity),
  }
}

type SignalName = NonNullable<ContainerConfig["stopSignal"]>

/** Returns the CRI name of a signal: `SIGNAL_SIGRTMINPLUS1` for `SIGRTMIN+1`. */
const signalOf = (name: string): SignalName => `SIGNAL_${name.replace("+", "PLUS").replace("-", "MINUS")}` as SignalName
