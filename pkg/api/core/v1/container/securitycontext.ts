import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"

export const SELinuxOptions = message("core.v1.SELinuxOptions", "Labels of SELinux.", {
  user: f.string(1, "User part of the label."),
  role: f.string(2, "Role part of the label."),
  type: f.string(3, "Type part of the label."),
  level: f.string(4, "Level part of the label."),
})
export interface SELinuxOptions extends ObjectOf<typeof SELinuxOptions> {}

export const SeccompProfile = message(
  "core.v1.SeccompProfile",
  "Which system calls are allowed.",
  {
    type: f
      .string(1, "Which kind of profile is used.")
      .required("type is required when seccompProfile is set")
      .enum("Unconfined", "RuntimeDefault", "Localhost"),
    localhostProfile: f
      .string(2, "File on the node, relative to the kubelet's seccomp folder; for Localhost only.")
      .pointer(),
  },
  { unions: [{ discriminator: "type", fields: ["localhostProfile"] }] },
)
export interface SeccompProfile extends ObjectOf<typeof SeccompProfile> {}

export const AppArmorProfile = message(
  "core.v1.AppArmorProfile",
  "Which AppArmor profile confines the container.",
  {
    type: f
      .string(1, "Which kind of profile is used.")
      .required("type is required when appArmorProfile is set")
      .enum("Unconfined", "RuntimeDefault", "Localhost"),
    localhostProfile: f.string(2, "Name of a profile loaded on the node; for Localhost only.").pointer(),
  },
  { unions: [{ discriminator: "type", fields: ["localhostProfile"] }] },
)
export interface AppArmorProfile extends ObjectOf<typeof AppArmorProfile> {}

export const WindowsSecurityContextOptions = message(
  "core.v1.WindowsSecurityContextOptions",
  "Settings of Windows containers; stored, never used on Linux.",
  {
    gmsaCredentialSpecName: f.string(1, "Name of the GMSA credential spec.").pointer(),
    gmsaCredentialSpec: f.string(2, "Contents of the GMSA credential spec.").pointer(),
    runAsUserName: f.string(3, "Windows user to run as.").pointer(),
    hostProcess: f.bool(4, "Whether to run as a process of the host.").pointer(),
  },
)
export interface WindowsSecurityContextOptions extends ObjectOf<typeof WindowsSecurityContextOptions> {}

export const Capabilities = message(
  "core.v1.Capabilities",
  "Linux capabilities to add to the default set, and to remove from it.",
  {
    add: f.list(1, e.string, "Capabilities to add.").atomic(),
    drop: f.list(2, e.string, "Capabilities to take away.").atomic(),
  },
)
export interface Capabilities extends ObjectOf<typeof Capabilities> {}

export const SecurityContext = message(
  "core.v1.SecurityContext",
  "Security settings of a container; they override those of the pod.",
  {
    capabilities: f.message(1, Capabilities, "Linux capabilities to add and drop."),
    privileged: f.bool(2, "Whether the container is root on the host in all but name.").pointer(),
    seLinuxOptions: f.message(3, SELinuxOptions, "SELinux labels."),
    windowsOptions: f.message(10, WindowsSecurityContextOptions, "Settings of Windows containers."),
    runAsUser: f.int64(4, "UID of the process; the image's unless given.").pointer(),
    runAsGroup: f.int64(8, "GID of the process; the runtime's choice unless given.").pointer(),
    runAsNonRoot: f.bool(5, "Refuses to start when the user would be root.").pointer(),
    readOnlyRootFilesystem: f.bool(6, "Whether the container's root filesystem is read-only.").pointer(),
    allowPrivilegeEscalation: f.bool(7, "Whether a process may gain more privileges than its parent.").pointer(),
    procMount: f.string(9, "How /proc is mounted.").enum("Default", "Unmasked").pointer(),
    seccompProfile: f.message(11, SeccompProfile, "Allowed system calls."),
    appArmorProfile: f.message(12, AppArmorProfile, "AppArmor profile."),
  },
)
export interface SecurityContext extends ObjectOf<typeof SecurityContext> {}

export const Sysctl = message("core.v1.Sysctl", "A kernel parameter of the pod's namespaces.", {
  name: f.string(1, "Name of the parameter.").required(),
  value: f.string(2, "Value of the parameter.").default("").printZero(),
})
export interface Sysctl extends ObjectOf<typeof Sysctl> {}

export const PodSecurityContext = message(
  "core.v1.PodSecurityContext",
  "Security settings of all the pod's containers.",
  {
    seLinuxOptions: f.message(1, SELinuxOptions, "SELinux labels."),
    windowsOptions: f.message(8, WindowsSecurityContextOptions, "Settings of Windows containers."),
    runAsUser: f.int64(2, "UID of the processes.").pointer(),
    runAsNonRoot: f.bool(3, "Refuses to start when the user would be root.").pointer(),
    supplementalGroups: f.list(4, e.int64, "Further groups of the first process of each container.").atomic(),
    fsGroup: f.int64(5, "Group that owns volumes which support it.").pointer(),
    runAsGroup: f.int64(6, "GID of the processes.").pointer(),
    sysctls: f.list(7, Sysctl, "Kernel parameters of the pod's namespaces.").atomic(),
    fsGroupChangePolicy: f
      .string(9, "When the ownership of volumes is changed.")
      .enum("OnRootMismatch", "Always")
      .pointer(),
    seccompProfile: f.message(10, SeccompProfile, "Allowed system calls."),
    appArmorProfile: f.message(11, AppArmorProfile, "AppArmor profile."),
    supplementalGroupsPolicy: f
      .string(12, "Whether groups from the image's /etc/group are added.")
      .enum("Merge", "Strict")
      .pointer(),
    seLinuxChangePolicy: f
      .string(13, "How SELinux labels get onto volumes.")
      .enum("Recursive", "MountOption")
      .pointer()
      .ownRule(),
  },
)
export interface PodSecurityContext extends ObjectOf<typeof PodSecurityContext> {}
