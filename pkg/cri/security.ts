/**
 * The rights of a sandbox or container, and the user it runs as. Source: kubernetes/cri-api
 * pkg/apis/runtime/v1/api.proto.
 */
import { enumeration, field, message, repeated, type InitOf } from "../protobuf/message.ts"

export const Int64Value = message({ value: field(1, "int64") })

/**
 * POD: shared by the containers of a pod; CONTAINER: its own; NODE: the host's; TARGET: another container's,
 * `targetId`.
 */
export const NamespaceMode = enumeration({ POD: 0, CONTAINER: 1, NODE: 2, TARGET: 3 })

export const IdMapping = message({
  hostId: field(1, "uint32"),
  containerId: field(2, "uint32"),
  length: field(3, "uint32"),
})

export const UserNamespace = message({
  mode: field(1, NamespaceMode),
  uids: repeated(2, IdMapping),
  gids: repeated(3, IdMapping),
})

export const NamespaceOption = message({
  network: field(1, NamespaceMode),
  pid: field(2, NamespaceMode),
  ipc: field(3, NamespaceMode),
  targetId: field(4, "string"),
  usernsOptions: field(5, UserNamespace),
})
export interface NamespaceOption extends InitOf<typeof NamespaceOption> {}

export const SELinuxOption = message({
  user: field(1, "string"),
  role: field(2, "string"),
  type: field(3, "string"),
  level: field(4, "string"),
})

export const SupplementalGroupsPolicy = enumeration({ Merge: 0, Strict: 1 })

export const SecurityProfile = message({
  profileType: field(1, enumeration({ RuntimeDefault: 0, Unconfined: 1, Localhost: 2 })),
  /** A path for seccomp, a profile's name for AppArmor. Set only with Localhost. */
  localhostRef: field(2, "string"),
})
export interface SecurityProfile extends InitOf<typeof SecurityProfile> {}

export const Capability = message({
  addCapabilities: repeated(1, "string"),
  dropCapabilities: repeated(2, "string"),
  addAmbientCapabilities: repeated(3, "string"),
})

export const LinuxSandboxSecurityContext = message({
  namespaceOptions: field(1, NamespaceOption),
  selinuxOptions: field(2, SELinuxOption),
  runAsUser: field(3, Int64Value),
  readonlyRootfs: field(4, "bool"),
  supplementalGroups: repeated(5, "int64"),
  privileged: field(6, "bool"),
  runAsGroup: field(8, Int64Value),
  seccomp: field(9, SecurityProfile),
  apparmor: field(10, SecurityProfile),
  supplementalGroupsPolicy: field(11, SupplementalGroupsPolicy),
})
export interface LinuxSandboxSecurityContext extends InitOf<typeof LinuxSandboxSecurityContext> {}

export const LinuxContainerSecurityContext = message({
  capabilities: field(1, Capability),
  privileged: field(2, "bool"),
  namespaceOptions: field(3, NamespaceOption),
  selinuxOptions: field(4, SELinuxOption),
  runAsUser: field(5, Int64Value),
  runAsUsername: field(6, "string"),
  readonlyRootfs: field(7, "bool"),
  supplementalGroups: repeated(8, "int64"),
  /** The two deprecated strings are what containerd 1.6 reads when the newer profiles below are absent. */
  apparmorProfile: field(9, "string"),
  seccompProfilePath: field(10, "string"),
  noNewPrivs: field(11, "bool"),
  runAsGroup: field(12, Int64Value),
  maskedPaths: repeated(13, "string"),
  readonlyPaths: repeated(14, "string"),
  seccomp: field(15, SecurityProfile),
  apparmor: field(16, SecurityProfile),
  supplementalGroupsPolicy: field(17, SupplementalGroupsPolicy),
})
export interface LinuxContainerSecurityContext extends InitOf<typeof LinuxContainerSecurityContext> {}
