import { join } from "node:path"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type {
  AppArmorProfile,
  PodSecurityContext,
  SeccompProfile,
  SecurityContext,
} from "../../../pkg/api/core/v1/container/securitycontext.ts"
import type { Image } from "../../../pkg/cri/image.ts"
import type { InitOf } from "../../../pkg/protobuf/message.ts"
import type {
  LinuxContainerSecurityContext,
  LinuxSandboxSecurityContext,
  NamespaceOption,
  SecurityProfile,
} from "../../../pkg/cri/security.ts"
import { containersOf, type AnyContainer } from "../model/containers.ts"
import type { UserNamespaceOptions } from "./user-namespaces.ts"
import { configError } from "../model/start-error.ts"

type ContainerSecurity = InitOf<typeof LinuxContainerSecurityContext>
type SandboxSecurity = InitOf<typeof LinuxSandboxSecurityContext>

/**
 * Paths in /proc that containers must not read or change. Source: pkg/securitycontext/util.go
 * ConvertToRuntimeMaskedPaths.
 */
const MASKED_PATHS = [
  "/proc/asound",
  "/proc/acpi",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/sys/firmware",
  "/sys/devices/virtual/powercap",
]
const READONLY_PATHS = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]

/**
 * Returns the namespaces of the pod's containers. `target` is the id of the container whose processes an ephemeral one
 * shares; `users` are the ids of a pod with `hostUsers: false`.
 */
export function namespaceOptions(
  pod: Pod,
  { target, users }: { readonly target?: string | undefined; readonly users?: UserNamespaceOptions | undefined } = {},
): NamespaceOption {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace } = pod.spec
  return {
    network: hostNetwork === true ? "NODE" : "POD",
    ipc: hostIPC === true ? "NODE" : "POD",
    pid:
      hostPID === true
        ? "NODE"
        : shareProcessNamespace === true
          ? "POD"
          : target !== undefined
            ? "TARGET"
            : "CONTAINER",
    ...(target === undefined || hostPID === true || shareProcessNamespace === true ? {} : { targetId: target }),
    ...(users === undefined ? {} : { usernsOptions: users }),
  }
}

/**
 * Returns a setting of the container, or that of the pod where the container has none. Source:
 * pkg/securitycontext/util.go DetermineEffectiveSecurityContext.
 */
export function effective(pod: Pod, container: AnyContainer): SecurityContext {
  const shared: PodSecurityContext = pod.spec.securityContext
  const own: SecurityContext = container.securityContext ?? {}
  return {
    ...own,
    seLinuxOptions: own.seLinuxOptions ?? shared.seLinuxOptions,
    runAsUser: own.runAsUser ?? shared.runAsUser,
    runAsGroup: own.runAsGroup ?? shared.runAsGroup,
    runAsNonRoot: own.runAsNonRoot ?? shared.runAsNonRoot,
    seccompProfile: own.seccompProfile ?? shared.seccompProfile,
    appArmorProfile: own.appArmorProfile ?? shared.appArmorProfile,
  }
}

/**
 * Refuses a container with runAsNonRoot that would run as root. Source:
 * pkg/kubelet/kuberuntime/security_context_others.go verifyRunAsNonRoot. @throws StartError CreateContainerConfigError
 */
export function verifyRunAsNonRoot(pod: Pod, container: AnyContainer, image: Pick<Image, "uid" | "username">): void {
  const { runAsNonRoot, runAsUser } = effective(pod, container)
  if (runAsNonRoot !== true) return
  const who =
    `(pod: "${pod.metadata.name ?? ""}_${pod.metadata.namespace ?? ""}(${pod.metadata.uid ?? ""})", container: ` +
    `${container.name})`
  if (runAsUser !== undefined) {
    if (runAsUser === 0) throw configError(`container's runAsUser breaks non-root policy ${who}`)
    return
  }
  if (image.uid !== undefined) {
    if (image.uid.value === 0) throw configError(`container has runAsNonRoot and image will run as root ${who}`)
    return
  }
  if (image.username !== "")
    throw configError(
      `container has runAsNonRoot and image has non-numeric user (${image.username}), cannot verify user is ` +
        `non-root ${who}`,
    )
  throw configError(`container has runAsNonRoot and image will run as root ${who}`)
}

export interface ContainerSecurityRequest {
  readonly pod: Pod
  readonly container: AnyContainer
  readonly image: Pick<Image, "uid" | "username">
  /** Folder of Localhost seccomp profiles. */
  readonly seccompFolder: string
  /** Whether a container without a profile gets that of the runtime. */
  readonly seccompDefault?: boolean
  readonly targetContainerId?: string | undefined
  readonly users?: UserNamespaceOptions | undefined
}

/** Source: pkg/kubelet/kuberuntime/security_context.go determineEffectiveSecurityContext. */
export function containerSecurity({
  pod,
  container,
  image,
  seccompFolder,
  seccompDefault = false,
  targetContainerId,
  users,
}: ContainerSecurityRequest): ContainerSecurity {
  const own = effective(pod, container)
  const shared = pod.spec.securityContext
  const privileged = own.privileged === true
  const seccomp = privileged
    ? UNCONFINED
    : own.seccompProfile === undefined && seccompDefault
      ? RUNTIME_DEFAULT
      : seccompProfile(own.seccompProfile, seccompFolder)
  const apparmor = appArmorProfile(own.appArmorProfile)
  const unmasked = own.procMount === "Unmasked" || privileged
  // The image's user is passed explicitly, because the runtime refuses a group without a user.
  const user =
    own.runAsUser !== undefined
      ? { runAsUser: { value: own.runAsUser } }
      : image.uid !== undefined
        ? { runAsUser: { value: image.uid.value } }
        : image.username !== ""
          ? { runAsUsername: image.username }
          : {}
  return {
    namespaceOptions: namespaceOptions(pod, { target: targetContainerId, users }),
    privileged,
    ...user,
    ...(own.runAsGroup === undefined ? {} : { runAsGroup: { value: own.runAsGroup } }),
    readonlyRootfs: own.readOnlyRootFilesystem === true,
    noNewPrivs: own.allowPrivilegeEscalation === false,
    supplementalGroups: supplementalGroups(shared),
    supplementalGroupsPolicy: shared.supplementalGroupsPolicy ?? "Merge",
    ...(own.capabilities === undefined
      ? {}
      : {
          capabilities: { addCapabilities: own.capabilities.add ?? [], dropCapabilities: own.capabilities.drop ?? [] },
        }),
    ...(own.seLinuxOptions === undefined ? {} : { selinuxOptions: own.seLinuxOptions }),
    seccomp,
    seccompProfilePath: seccompPath(seccomp),
    ...(apparmor === undefined ? {} : { apparmor, apparmorProfile: appArmorName(apparmor) }),
    maskedPaths: unmasked ? [] : MASKED_PATHS,
    readonlyPaths: unmasked ? [] : READONLY_PATHS,
  }
}

/**
 * Returns the security context of the sandbox. Source: pkg/kubelet/kuberuntime/kuberuntime_sandbox.go
 * generatePodSandboxLinuxConfig.
 */
export function sandboxSecurity(pod: Pod, users?: UserNamespaceOptions): SandboxSecurity {
  const shared = pod.spec.securityContext
  const privileged = containersOf(pod).some(({ container }) => container.securityContext?.privileged === true)
  return {
    namespaceOptions: namespaceOptions(pod, { users }),
    privileged,
    seccomp: RUNTIME_DEFAULT,
    // The pause program needs no groups, but some runtimes check the ownership of volumes against them.
    supplementalGroups: supplementalGroups(shared),
    supplementalGroupsPolicy: shared.supplementalGroupsPolicy ?? "Merge",
    ...(shared.runAsUser === undefined || pod.spec.hostUsers === false
      ? {}
      : { runAsUser: { value: shared.runAsUser } }),
    ...(shared.runAsGroup === undefined || shared.runAsUser === undefined
      ? {}
      : { runAsGroup: { value: shared.runAsGroup } }),
    ...(shared.seLinuxOptions === undefined ? {} : { selinuxOptions: shared.seLinuxOptions }),
  }
}

const supplementalGroups = ({ fsGroup, supplementalGroups: groups = [] }: PodSecurityContext): number[] =>
  fsGroup === undefined ? [...groups] : [fsGroup, ...groups]

const UNCONFINED: SecurityProfile = { profileType: "Unconfined" }
const RUNTIME_DEFAULT: SecurityProfile = { profileType: "RuntimeDefault" }

function seccompProfile(profile: SeccompProfile | undefined, folder: string): SecurityProfile {
  if (profile === undefined || profile.type === "Unconfined") return UNCONFINED
  if (profile.type === "RuntimeDefault") return RUNTIME_DEFAULT
  if (profile.localhostProfile === undefined || profile.localhostProfile === "")
    throw configError("localhostProfile must be set if seccompProfile type is Localhost.")
  return { profileType: "Localhost", localhostRef: join(folder, profile.localhostProfile) }
}

const seccompPath = ({ profileType, localhostRef }: SecurityProfile): string =>
  profileType === "RuntimeDefault"
    ? "runtime/default"
    : profileType === "Localhost"
      ? `localhost/${localhostRef ?? ""}`
      : "unconfined"

function appArmorProfile(profile: AppArmorProfile | undefined): SecurityProfile | undefined {
  if (profile === undefined) return undefined
  if (profile.type === "Localhost") return { profileType: "Localhost", localhostRef: profile.localhostProfile ?? "" }
  return { profileType: profile.type }
}

const appArmorName = ({ profileType, localhostRef }: SecurityProfile): string =>
  profileType === "RuntimeDefault"
    ? "runtime/default"
    : profileType === "Localhost"
      ? `localhost/${localhostRef ?? ""}`
      : "unconfined"
