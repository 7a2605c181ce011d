import { containerDevices } from "../volumes/container-devices.ts"
import { unlessAborted } from "../../../pkg/flow/unless-aborted.ts"
import { traced } from "../../../pkg/tracing/tracing.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import type { Mount } from "../../../pkg/cri/container.ts"
import type { PodSandboxConfig } from "../../../pkg/cri/sandbox.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { containerConfig } from "./container-config.ts"
import type { KubeletContext } from "../context.ts"
import { containerCdiDevices } from "../dra/container-cdi-devices.ts"
import type { ContainerAllocation } from "../devicemanager/device-plugin-service.ts"
import type { DeviceManager } from "../devicemanager/device-manager.ts"
import type { DraManager } from "../dra/dra-manager.ts"
import type { Environment } from "../env/environment.ts"
import { argumentExpander } from "../env/program-limits.ts"
import { hostNetworkHostsFile, hostsFile } from "../sandbox/hosts-file.ts"
import { podHostname } from "../sandbox/hostname.ts"
import { runHook } from "./hooks.ts"
import type { ImageManager } from "../images/image-manager.ts"
import { linkLog } from "../logs/container-links.ts"
import { identityOf } from "../model/pod-identity.ts"
import { readNotes } from "../model/labels.ts"
import type { ContainerStart } from "../model/containers.ts"
import { dirname, join } from "node:path"
import { etcHosts, podLogFolder, terminationFile } from "../model/pod-paths.ts"
import type { RuntimeCache } from "../pleg/runtime-cache.ts"
import { latest, type RuntimeContainer, type RuntimePod, type RuntimeSandbox } from "../model/runtime-pod.ts"
import { verifyRunAsNonRoot } from "../security/security-context.ts"
import { configError, StartError } from "../model/start-error.ts"
import { nextCount, statusOf } from "../status/container-status.ts"
import type { StatusManager } from "../status/status-manager.ts"
import type { MountedVolumes } from "../model/mounted-volume.ts"
import type { VolumeManager } from "../volumes/volume-manager.ts"

export interface StartParts {
  readonly cache: RuntimeCache
  readonly images: ImageManager
  readonly volumes: VolumeManager
  readonly environment: Environment
  readonly dra: DraManager
  readonly devices: Pick<DeviceManager, "prepare">
  readonly status: Pick<StatusManager, "status">
}

export interface StartRequest {
  readonly pod: Pod
  readonly start: ContainerStart
  readonly runtime: RuntimePod
  readonly sandbox: RuntimeSandbox
  readonly sandboxConfig: PodSandboxConfig
  readonly mounted: MountedVolumes
  readonly signal: AbortSignal
}

/**
 * Pulls the image, creates the container, starts it and runs its postStart hook. Source:
 * pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer. @throws StartError, which an event reports too; the
 * reason of `signal` when it aborts
 */
export async function startContainer(
  context: KubeletContext,
  parts: StartParts,
  request: StartRequest,
): Promise<RuntimeContainer> {
  const { events, metrics } = context
  const { pod, start, signal } = request
  metrics.containers.starts(start.type)
  const imageVolumes = countImageVolumes(pod, start.container)
  metrics.containers.imageVolumes(imageVolumes, "requested")
  try {
    const started = await traced(context.tracing, "Start container", () => tryStart(context, parts, request), {
      "k8s.container.name": start.container.name,
      "container.image.name": start.container.image,
    })
    metrics.containers.imageVolumes(imageVolumes, "mounted")
    return started
  } catch (err) {
    signal.throwIfAborted()
    metrics.containers.imageVolumes(imageVolumes, "failed")
    const failure =
      err instanceof StartError ? err : new StartError("CreateContainerError", errorMessage(err), { cause: err })
    metrics.containers.failed(start.type, failure.reason)
    const text = PULL_REASONS.has(failure.reason) ? failure.reason : failure.message
    if (failure.reason !== "PostStartHookError")
      events.event(pod, "Warning", "Failed", `Error: ${text}`, start.fieldPath)
    throw failure
  }
}

/** Returns the number of volumes of the container that are images. */
function countImageVolumes(
  { spec: { volumes = [] } }: Pod,
  { volumeMounts = [] }: ContainerStart["container"],
): number {
  const images = volumes.filter(({ image }) => image !== undefined)
  return images.length === 0 ? 0 : images.filter(({ name }) => volumeMounts.some((mount) => mount.name === name)).length
}

/** For these reasons the event Failed has only the reason, because an earlier event has the message. */
const PULL_REASONS = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "ErrImageNeverPull",
  "InvalidImageName",
  "ImageInspectError",
])

async function tryStart(
  context: KubeletContext,
  { cache, images, volumes, environment: environments, dra, devices, status }: StartParts,
  request: StartRequest,
): Promise<RuntimeContainer> {
  const { config, runtime: machine, events } = context
  const {
    pod,
    start: { container, fieldPath },
    runtime,
    sandbox,
    sandboxConfig,
    mounted,
    signal,
  } = request

  const image = await images.ensure({ pod, container, fieldPath, sandbox: sandboxConfig, signal })
  signal.throwIfAborted()

  const previous = latest(runtime, container.name)
  const attempt = previous === undefined ? countOf(status.status(pod), container.name) : previous.notes.restartCount + 1
  verifyRunAsNonRoot(pod, container, image)
  const hostIps = config.nodeIps
  const podIps = pod.spec.hostNetwork === true ? hostIps : sandbox.ips
  const environment = await environments.of({ pod, container, podIps, hostIps, mounted })
  const [mounts, own] = await Promise.all([
    volumes.containerMounts(pod, container, mounted, environment),
    ownMounts(context, request, podIps, attempt),
  ])
  const given = await unlessAborted(preparedDevices(devices, pod, container), signal)
  const target =
    "targetContainerName" in container && container.targetContainerName
      ? latest(runtime, container.targetContainerName)?.id
      : undefined
  const wanted = containerConfig({
    pod,
    container,
    attempt,
    image,
    config,
    environment: [...Object.entries(given.envs).map(([key, value]) => ({ key, value })), ...environment],
    expand: argumentExpander(environment),
    mounts: [
      ...given.mounts.map(({ containerPath, hostPath, readOnly }) => ({ containerPath, hostPath, readonly: readOnly })),
      ...mounts,
      ...own,
    ],
    devices: [...given.devices, ...containerDevices(container, mounted)],
    cdiDevices: await containerCdiDevices(dra, machine.containers, pod, container, given.cdiDevices),
    annotations: given.annotations,
    memoryCapacity: machine.machine.memoryBytes,
    targetContainerId: target,
    users: sandboxConfig.linux?.securityContext?.namespaceOptions?.usernsOptions,
  })
  signal.throwIfAborted()

  await machine.files.makeFolder(join(podLogFolder(config, identityOf(pod)), container.name))
  if (previous?.state === "created") await removeUnstarted(previous, context, cache)
  let id: string
  try {
    id = await machine.containers.createContainer(sandbox.id, wanted, sandboxConfig)
  } catch (err) {
    throw new StartError("CreateContainerError", errorMessage(err), { cause: err })
  }
  cache.created({
    id,
    pod: identityOf(pod),
    name: container.name,
    sandboxId: sandbox.id,
    state: "created",
    createdAt: context.clock.now(),
    startedAt: 0,
    finishedAt: 0,
    exitCode: 0,
    reason: "",
    message: "",
    image: container.image ?? "",
    imageRef: image.repoDigests[0] ?? image.id,
    notes: readNotes(wanted.annotations ?? {}),
    logPath: "",
    user: undefined,
    resources: undefined,
  })
  events.event(pod, "Normal", "Created", "Container created", fieldPath)
  try {
    await machine.containers.startContainer(id)
  } catch (err) {
    await cache.refreshContainer(id, sandbox.id)
    throw new StartError("RunContainerError", errorMessage(err), { cause: err })
  }
  events.event(pod, "Normal", "Started", "Container started", fieldPath)
  const run = await cache.refreshContainer(id, sandbox.id)
  if (run === undefined)
    throw new StartError("RunContainerError", `container ${container.name} was removed right after its start`)
  await linkLog(context, run)
  const postStart = container.lifecycle?.postStart
  if (postStart !== undefined) {
    try {
      await traced(context.tracing, "Run postStart hook", () =>
        runHook(context, { pod, container, containerId: id, handler: postStart, podIp: podIps[0], signal }),
      )
    } catch (err) {
      signal.throwIfAborted()
      events.event(pod, "Warning", "FailedPostStartHook", "PostStartHook failed", fieldPath)
      throw new StartError("PostStartHookError", errorMessage(err), { cause: err })
    }
  }
  return run
}

/**
 * Removes a container that was created and does not run. The process that created it may have died while the runtime
 * was starting it: then it would run beside the next one. @throws StartError where it cannot be removed, since it runs
 */
async function removeUnstarted(
  { id, sandboxId, name }: RuntimeContainer,
  { runtime }: KubeletContext,
  cache: StartParts["cache"],
): Promise<void> {
  try {
    await runtime.containers.removeContainer(id)
  } catch (err) {
    const message = `container ${name}, which was created before, cannot be removed: ${errorMessage(err)}`
    throw new StartError("CreateContainerError", message, { cause: err })
  } finally {
    await cache.refreshContainer(id, sandboxId)
  }
}

/** Returns what the container gets with its devices of device plugins. @throws StartError */
async function preparedDevices(
  devices: StartParts["devices"],
  pod: Pod,
  container: ContainerStart["container"],
): Promise<ContainerAllocation> {
  try {
    return await devices.prepare(pod, container)
  } catch (err) {
    throw configError(errorMessage(err), err)
  }
}

const countOf = ({ initContainerStatuses = [], containerStatuses = [] }: PodStatus, name: string): number =>
  nextCount(statusOf(initContainerStatuses, name) ?? statusOf(containerStatuses, name))

/** Returns the mounts that every container gets: /etc/hosts and the file of its termination message. */
async function ownMounts(
  { config, runtime }: KubeletContext,
  { pod, start: { container } }: StartRequest,
  podIps: readonly string[],
  attempt: number,
): Promise<readonly Mount[]> {
  const { uid } = identityOf(pod)
  const mounts: Mount[] = []
  const taken = (path: string) => (container.volumeMounts ?? []).some(({ mountPath }) => mountPath === path)
  if (!taken("/etc/hosts") && podIps.length > 0) {
    const path = etcHosts(config, uid)
    const aliases = pod.spec.hostAliases ?? []
    const text =
      pod.spec.hostNetwork === true
        ? hostNetworkHostsFile((await runtime.files.read("/etc/hosts")) ?? "", aliases)
        : hostsFile({ ips: podIps, aliases, ...podHostname(pod, config.clusterDomain, runtime.machine.hostname) })
    await runtime.files.makeFolder(dirname(path), 0o750)
    await runtime.files.write(path, text, 0o644)
    mounts.push({
      containerPath: "/etc/hosts",
      hostPath: path,
      readonly: container.securityContext?.readOnlyRootFilesystem === true,
    })
  }
  if (container.terminationMessagePath !== "" && !taken(container.terminationMessagePath)) {
    const path = terminationFile(config, uid, container.name, attempt)
    await runtime.files.makeFolder(dirname(path), 0o750)
    // Any user in the container may write the termination message.
    await runtime.files.write(path, "", 0o666)
    mounts.push({ containerPath: container.terminationMessagePath, hostPath: path })
  }
  return mounts
}
