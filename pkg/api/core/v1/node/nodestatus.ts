import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { NodeConfigSource } from "./nodespec.ts"

/** Source: k8s.io/api core/v1/types.go, SetDefaults_NodeStatus. */

/** The status of a Node is not validated, except by the rules in node-validation.ts. */
const AS_REPORTED = { unchecked: true }

export const NodeCondition = message(
  "core.v1.NodeCondition",
  "One aspect of a node's health.",
  {
    type: f
      .string(1, "Name of the aspect: Ready, MemoryPressure, DiskPressure, PIDPressure, NetworkUnavailable.")
      .required(),
    status: f.string(2, "True, False or Unknown.").printZero(),
    lastHeartbeatTime: f.time(3, "When the kubelet last reported it.").orNull(),
    lastTransitionTime: f.time(4, "When the status last changed.").orNull(),
    reason: f.string(5, "Reason of the last change, one word."),
    message: f.string(6, "The reason in words."),
  },
  AS_REPORTED,
)
export interface NodeCondition extends ObjectOf<typeof NodeCondition> {}

export const NodeAddress = message(
  "core.v1.NodeAddress",
  "An address or a name by which the node is reached.",
  {
    type: f.string(1, "Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.").required(),
    address: f.string(2, "The address.").required(),
  },
  AS_REPORTED,
)
export interface NodeAddress extends ObjectOf<typeof NodeAddress> {}

export const DaemonEndpoint = message("core.v1.DaemonEndpoint", "The port of a daemon.", {
  Port: f.int32(1, "Number of the port.").default(0).printZero(),
})
export interface DaemonEndpoint extends ObjectOf<typeof DaemonEndpoint> {}

export const NodeDaemonEndpoints = message("core.v1.NodeDaemonEndpoints", "The ports of a node's daemons.", {
  kubeletEndpoint: f.message(1, DaemonEndpoint, "The kubelet's endpoint.").always(),
})
export interface NodeDaemonEndpoints extends ObjectOf<typeof NodeDaemonEndpoints> {}

export const NodeSwapStatus = message("core.v1.NodeSwapStatus", "Swap of a node.", {
  capacity: f.int64(1, "Bytes of swap.").pointer(),
})
export interface NodeSwapStatus extends ObjectOf<typeof NodeSwapStatus> {}

export const NodeSystemInfo = message("core.v1.NodeSystemInfo", "Names and versions of the software on a node.", {
  machineID: f.string(1, "Machine id of the node.").default("").printZero(),
  systemUUID: f.string(2, "UUID of the hardware.").default("").printZero(),
  bootID: f.string(3, "Changes with every boot.").default("").printZero(),
  kernelVersion: f.string(4, "Release of the kernel.").default("").printZero(),
  osImage: f.string(5, "Name of the operating system's release.").default("").printZero(),
  containerRuntimeVersion: f
    .string(6, "Name and version of the container runtime, as in containerd://1.6.20.")
    .default("")
    .printZero(),
  kubeletVersion: f.string(7, "Version of the kubelet.").default("").printZero(),
  kubeProxyVersion: f.string(8, "Deprecated: version of kube-proxy.").default("").printZero(),
  operatingSystem: f.string(9, "Name of the operating system.").default("").printZero(),
  architecture: f.string(10, "Name of the processor's architecture.").default("").printZero(),
  swap: f.message(11, NodeSwapStatus, "Swap of the node."),
})
export interface NodeSystemInfo extends ObjectOf<typeof NodeSystemInfo> {}

export const ContainerImage = message("core.v1.ContainerImage", "An image that a node has.", {
  names: f.list(1, e.string, "Names by which the image is known.").atomic().orNull(),
  sizeBytes: f.int64(2, "Size of the image."),
})
export interface ContainerImage extends ObjectOf<typeof ContainerImage> {}

export const AttachedVolume = message(
  "core.v1.AttachedVolume",
  "A volume that is attached to a node.",
  {
    name: f.string(1, "Name of the volume.").required(),
    devicePath: f.string(2, "Path of the device.").default("").printZero(),
  },
  AS_REPORTED,
)
export interface AttachedVolume extends ObjectOf<typeof AttachedVolume> {}

export const NodeConfigStatus = message(
  "core.v1.NodeConfigStatus",
  "Deprecated: state of dynamic kubelet configuration.",
  {
    assigned: f.message(1, NodeConfigSource, "Configuration the node will try to use."),
    active: f.message(2, NodeConfigSource, "Configuration in use."),
    lastKnownGood: f.message(3, NodeConfigSource, "Configuration to fall back to."),
    error: f.string(4, "What went wrong."),
  },
)
export interface NodeConfigStatus extends ObjectOf<typeof NodeConfigStatus> {}

export const NodeRuntimeHandlerFeatures = message(
  "core.v1.NodeRuntimeHandlerFeatures",
  "The features of a runtime handler.",
  {
    recursiveReadOnlyMounts: f.bool(1, "Whether recursive read-only mounts work.").pointer(),
    userNamespaces: f.bool(2, "Whether user namespaces work.").pointer(),
  },
)
export interface NodeRuntimeHandlerFeatures extends ObjectOf<typeof NodeRuntimeHandlerFeatures> {}

export const NodeRuntimeHandler = message(
  "core.v1.NodeRuntimeHandler",
  "A handler that the container runtime offers.",
  {
    name: f.string(1, "Name of the handler; empty for the default one.").default(""),
    features: f.message(2, NodeRuntimeHandlerFeatures, "What the handler can do."),
  },
)
export interface NodeRuntimeHandler extends ObjectOf<typeof NodeRuntimeHandler> {}

export const NodeFeatures = message("core.v1.NodeFeatures", "The features of a node's container runtime.", {
  supplementalGroupsPolicy: f.bool(1, "Whether supplementalGroupsPolicy is heeded.").pointer(),
})
export interface NodeFeatures extends ObjectOf<typeof NodeFeatures> {}

/** Sets allocatable to the capacity when a Node does not have it. Source: SetDefaults_NodeStatus. */
const withAllocatable = <
  S extends { readonly capacity?: object | undefined; readonly allocatable?: object | undefined },
>(
  status: S,
): S =>
  status.allocatable === undefined && status.capacity !== undefined
    ? { ...status, allocatable: status.capacity }
    : status

export const NodeStatus = message(
  "core.v1.NodeStatus",
  "The present state of a node.",
  {
    capacity: f.map(1, e.quantity, "All resources of the node."),
    allocatable: f.map(2, e.quantity, "Resources that are left for pods."),
    phase: f.string(3, "Deprecated: never set."),
    conditions: f.list(4, NodeCondition, "Aspects of the node's health.").listMap("type").merge("type"),
    addresses: f.list(5, NodeAddress, "Addresses by which the node is reached.").listMap("type").merge("type"),
    daemonEndpoints: f.message(6, NodeDaemonEndpoints, "Where the node's daemons listen.").always(),
    nodeInfo: f.message(7, NodeSystemInfo, "Names and versions of what runs on the node.").always(),
    images: f.list(8, ContainerImage, "Images the node has.").atomic(),
    volumesInUse: f.list(9, e.string, "Attachable volumes that are mounted.").atomic(),
    volumesAttached: f.list(10, AttachedVolume, "Volumes that are attached.").atomic(),
    config: f.message(11, NodeConfigStatus, "Deprecated: state of dynamic kubelet configuration.").disabled(),
    runtimeHandlers: f.list(12, NodeRuntimeHandler, "Handlers the container runtime offers.").atomic(),
    features: f.message(13, NodeFeatures, "What the container runtime can do."),
    declaredFeatures: f.list(14, e.string, "Features the node's components declare.").atomic(),
  },
  { ...AS_REPORTED, defaults: withAllocatable },
)
export interface NodeStatus extends ObjectOf<typeof NodeStatus> {}
