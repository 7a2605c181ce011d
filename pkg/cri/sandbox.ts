/** The sandbox: a pod's namespaces, network and cgroup. Source: kubernetes/cri-api pkg/apis/runtime/v1/api.proto. */
import { enumeration, field, map, message, repeated, type DecodedOf, type InitOf } from "../protobuf/message.ts"
import { LinuxContainerResources } from "./resources.ts"
import { LinuxSandboxSecurityContext, NamespaceOption } from "./security.ts"

export const DnsConfig = message({
  servers: repeated(1, "string"),
  searches: repeated(2, "string"),
  options: repeated(3, "string"),
})
export interface DnsConfig extends InitOf<typeof DnsConfig> {}

export const Protocol = enumeration({ TCP: 0, UDP: 1, SCTP: 2 })

export const PortMapping = message({
  protocol: field(1, Protocol),
  containerPort: field(2, "int32"),
  hostPort: field(3, "int32"),
  hostIp: field(4, "string"),
})
export interface PortMapping extends InitOf<typeof PortMapping> {}

/** These four fields together name a sandbox: a runtime refuses a second one with the same values. */
export const PodSandboxMetadata = message({
  name: field(1, "string"),
  uid: field(2, "string"),
  namespace: field(3, "string"),
  attempt: field(4, "uint32"),
})
export interface PodSandboxMetadata extends DecodedOf<typeof PodSandboxMetadata> {}

export const LinuxPodSandboxConfig = message({
  cgroupParent: field(1, "string"),
  securityContext: field(2, LinuxSandboxSecurityContext),
  sysctls: map(3, "string"),
  overhead: field(4, LinuxContainerResources),
  resources: field(5, LinuxContainerResources),
})

export const PodSandboxConfig = message({
  metadata: field(1, PodSandboxMetadata),
  hostname: field(2, "string"),
  /** Each container's `logPath` is relative to this folder of the host. */
  logDirectory: field(3, "string"),
  dnsConfig: field(4, DnsConfig),
  portMappings: repeated(5, PortMapping),
  labels: map(6, "string"),
  annotations: map(7, "string"),
  linux: field(8, LinuxPodSandboxConfig),
})
export interface PodSandboxConfig extends InitOf<typeof PodSandboxConfig> {}

export const PodSandboxState = enumeration({ SANDBOX_READY: 0, SANDBOX_NOTREADY: 1 })

export const PodSandbox = message({
  id: field(1, "string"),
  metadata: field(2, PodSandboxMetadata),
  state: field(3, PodSandboxState),
  /** Nanoseconds since 1970, as are all times of the CRI. */
  createdAt: field(4, "int64"),
  labels: map(5, "string"),
  annotations: map(6, "string"),
  runtimeHandler: field(7, "string"),
})
export interface PodSandbox extends DecodedOf<typeof PodSandbox> {}

const PodIp = message({ ip: field(1, "string") })

export const PodSandboxStatus = message({
  id: field(1, "string"),
  metadata: field(2, PodSandboxMetadata),
  state: field(3, PodSandboxState),
  createdAt: field(4, "int64"),
  /** `ip` is empty for a pod in the host's network. */
  network: field(5, message({ ip: field(1, "string"), additionalIps: repeated(2, PodIp) })),
  linux: field(6, message({ namespaces: field(1, message({ options: field(2, NamespaceOption) })) })),
  labels: map(7, "string"),
  annotations: map(8, "string"),
  runtimeHandler: field(9, "string"),
})
export interface PodSandboxStatus extends DecodedOf<typeof PodSandboxStatus> {}

export const PodSandboxFilter = message({
  id: field(1, "string"),
  state: field(2, message({ state: field(1, PodSandboxState) })),
  labelSelector: map(3, "string"),
})
export interface PodSandboxFilter extends InitOf<typeof PodSandboxFilter> {}
