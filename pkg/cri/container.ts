/** Containers in a sandbox. Source: kubernetes/cri-api pkg/apis/runtime/v1/api.proto. */
import { enumeration, field, map, message, repeated, type DecodedOf, type InitOf } from "../protobuf/message.ts"
import { ImageSpec } from "./image.ts"
import { LinuxContainerResources } from "./resources.ts"
import { IdMapping, LinuxContainerSecurityContext } from "./security.ts"
import { Signal } from "./signal.ts"

export const MountPropagation = enumeration({
  PROPAGATION_PRIVATE: 0,
  PROPAGATION_HOST_TO_CONTAINER: 1,
  PROPAGATION_BIDIRECTIONAL: 2,
})

export const Mount = message({
  containerPath: field(1, "string"),
  hostPath: field(2, "string"),
  readonly: field(3, "bool"),
  selinuxRelabel: field(4, "bool"),
  propagation: field(5, MountPropagation),
  uidMappings: repeated(6, IdMapping),
  gidMappings: repeated(7, IdMapping),
  recursiveReadOnly: field(8, "bool"),
  image: field(9, ImageSpec),
  imageSubPath: field(10, "string"),
})
export interface Mount extends InitOf<typeof Mount> {}

/** `permissions` are those of cgroups: letters of `rwm`. */
export const Device = message({
  containerPath: field(1, "string"),
  hostPath: field(2, "string"),
  permissions: field(3, "string"),
})
export interface Device extends InitOf<typeof Device> {}

export const ContainerMetadata = message({ name: field(1, "string"), attempt: field(2, "uint32") })

const LinuxContainerConfig = message({
  resources: field(1, LinuxContainerResources),
  securityContext: field(2, LinuxContainerSecurityContext),
})

export const ContainerConfig = message({
  metadata: field(1, ContainerMetadata),
  /** `image` is the reference or id that the image service returned. */
  image: field(2, ImageSpec),
  /** Replaces the image's entrypoint. `args` replaces its command. */
  command: repeated(3, "string"),
  args: repeated(4, "string"),
  workingDir: field(5, "string"),
  /** A value is bytes on the wire, so that Secrets that are not UTF-8 arrive whole. */
  envs: repeated(6, message({ key: field(1, "string"), value: field(2, "textOrBytes") })),
  mounts: repeated(7, Mount),
  devices: repeated(8, Device),
  labels: map(9, "string"),
  annotations: map(10, "string"),
  logPath: field(11, "string"),
  stdin: field(12, "bool"),
  stdinOnce: field(13, "bool"),
  tty: field(14, "bool"),
  linux: field(15, LinuxContainerConfig),
  cdiDevices: repeated(17, message({ name: field(1, "string") })),
  stopSignal: field(18, Signal),
})
export interface ContainerConfig extends InitOf<typeof ContainerConfig> {}

export const ContainerState = enumeration({
  CONTAINER_CREATED: 0,
  CONTAINER_RUNNING: 1,
  CONTAINER_EXITED: 2,
  CONTAINER_UNKNOWN: 3,
})

export const Container = message({
  id: field(1, "string"),
  podSandboxId: field(2, "string"),
  metadata: field(3, ContainerMetadata),
  image: field(4, ImageSpec),
  imageRef: field(5, "string"),
  state: field(6, ContainerState),
  createdAt: field(7, "int64"),
  labels: map(8, "string"),
  annotations: map(9, "string"),
  imageId: field(10, "string"),
})
export interface Container extends DecodedOf<typeof Container> {}

const LinuxContainerUser = message({
  uid: field(1, "int64"),
  gid: field(2, "int64"),
  supplementalGroups: repeated(3, "int64"),
})

export const ContainerStatus = message({
  id: field(1, "string"),
  metadata: field(2, ContainerMetadata),
  state: field(3, ContainerState),
  /** Nanoseconds since 1970; 0 before it happens. */
  createdAt: field(4, "int64"),
  startedAt: field(5, "int64"),
  finishedAt: field(6, "int64"),
  exitCode: field(7, "int32"),
  image: field(8, ImageSpec),
  imageRef: field(9, "string"),
  /** `Completed`, `Error`, `OOMKilled` … in containerd's words; empty while the container runs. */
  reason: field(10, "string"),
  message: field(11, "string"),
  labels: map(12, "string"),
  annotations: map(13, "string"),
  mounts: repeated(14, Mount),
  logPath: field(15, "string"),
  resources: field(16, message({ linux: field(1, LinuxContainerResources) })),
  imageId: field(17, "string"),
  user: field(18, message({ linux: field(1, LinuxContainerUser) })),
  stopSignal: field(19, Signal),
})
export interface ContainerStatus extends DecodedOf<typeof ContainerStatus> {}

export const ContainerFilter = message({
  id: field(1, "string"),
  state: field(2, message({ state: field(1, ContainerState) })),
  podSandboxId: field(3, "string"),
  labelSelector: map(4, "string"),
})
export interface ContainerFilter extends InitOf<typeof ContainerFilter> {}
