import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { ageOf } from "../../../apimachinery/time.ts"
import { nodeChangeFaults, nodeFaults } from "./node-validation.ts"

/** Source: k8s.io/api core/v1/types.go, pkg/registry/core/node/strategy.go, ValidateNode in pkg/apis/core/validation. */

/** Kubelets report what they see, and only a few rules apply to it: those in node-validation.ts. */
const AS_REPORTED = { unchecked: true }

export const Taint = message("core.v1.Taint", "Keeps pods away that do not tolerate it.", {
  key: f.string(1, "Key of the taint.").required().ownRule(),
  value: f.string(2, "Value of the taint."),
  effect: f
    .string(3, "What happens to pods that do not tolerate it.")
    .required()
    .enum("NoSchedule", "PreferNoSchedule", "NoExecute")
    .ownRule(),
  timeAdded: f.time(4, "When the taint was put on."),
})
export interface Taint extends ObjectOf<typeof Taint> {}

export const ConfigMapNodeConfigSource = message(
  "core.v1.ConfigMapNodeConfigSource",
  "Deprecated: a ConfigMap that configured a kubelet.",
  {
    namespace: f.string(1, "Namespace of the ConfigMap.").required(),
    name: f.string(2, "Name of the ConfigMap.").required(),
    uid: f.string(3, "UID of the ConfigMap."),
    resourceVersion: f.string(4, "Version of the ConfigMap."),
    kubeletConfigKey: f.string(5, "Key of the kubelet's configuration in it.").required(),
  },
)
export interface ConfigMapNodeConfigSource extends ObjectOf<typeof ConfigMapNodeConfigSource> {}

export const NodeConfigSource = message(
  "core.v1.NodeConfigSource",
  "Deprecated: where a kubelet took its configuration from.",
  {
    configMap: f.message(2, ConfigMapNodeConfigSource, "A ConfigMap."),
  },
)
export interface NodeConfigSource extends ObjectOf<typeof NodeConfigSource> {}

export const NodeSpec = message(
  "core.v1.NodeSpec",
  "What is wanted of a node.",
  {
    podCIDR: f.string(1, "Range from which the node's pods get addresses."),
    podCIDRs: f
      .list(7, e.string, "Ranges from which the node's pods get addresses, one for each family; the first is podCIDR.")
      .listSet()
      .merge(),
    providerID: f.string(3, "How the cloud provider names the machine."),
    unschedulable: f.bool(4, "When true, no new pods are placed on the node."),
    taints: f.list(5, Taint, "Taints that keep pods away.").atomic().ownRule(),
    configSource: f.message(6, NodeConfigSource, "Deprecated: dynamic kubelet configuration is gone.").disabled(),
    externalID: f.string(2, "Deprecated: not used any more."),
  },
  { defaults: podCIDRDefaults },
)
export interface NodeSpec extends ObjectOf<typeof NodeSpec> {}

/** The single podCIDR and the list stand for one another, as conversion does upstream. */
function podCIDRDefaults<
  T extends { readonly podCIDR?: string | undefined; readonly podCIDRs?: readonly string[] | undefined },
>(spec: T): T {
  if (spec.podCIDR !== undefined && spec.podCIDR !== "" && (spec.podCIDRs ?? []).length === 0)
    return { ...spec, podCIDRs: [spec.podCIDR] }
  if ((spec.podCIDR === undefined || spec.podCIDR === "") && spec.podCIDRs?.[0] !== undefined)
    return { ...spec, podCIDR: spec.podCIDRs[0] }
  return spec
}

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

export const DaemonEndpoint = message("core.v1.DaemonEndpoint", "Where a daemon listens.", {
  Port: f.int32(1, "Number of the port.").default(0).printZero(),
})
export interface DaemonEndpoint extends ObjectOf<typeof DaemonEndpoint> {}

export const NodeDaemonEndpoints = message("core.v1.NodeDaemonEndpoints", "Where the daemons of a node listen.", {
  kubeletEndpoint: f.message(1, DaemonEndpoint, "The kubelet's endpoint.").always(),
})
export interface NodeDaemonEndpoints extends ObjectOf<typeof NodeDaemonEndpoints> {}

export const NodeSwapStatus = message("core.v1.NodeSwapStatus", "Swap of a node.", {
  capacity: f.int64(1, "Bytes of swap.").pointer(),
})
export interface NodeSwapStatus extends ObjectOf<typeof NodeSwapStatus> {}

export const NodeSystemInfo = message("core.v1.NodeSystemInfo", "Names and versions of what runs on a node.", {
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
  "What a runtime handler can do.",
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

export const NodeFeatures = message("core.v1.NodeFeatures", "What the container runtime of a node can do.", {
  supplementalGroupsPolicy: f.bool(1, "Whether supplementalGroupsPolicy is heeded.").pointer(),
})
export interface NodeFeatures extends ObjectOf<typeof NodeFeatures> {}

/** Where a node does not say what is left for pods, that is all it has. Source: SetDefaults_NodeStatus. */
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

const ROLE_PREFIX = "node-role.kubernetes.io/"

const fields = {
  spec: f.message(2, NodeSpec, "What is wanted of the node.").always(),
  status: f.message(3, NodeStatus, "The present state of the node.").always(),
}
export interface Node extends ObjectFor<typeof fields> {}

export const Node = defineResource(
  {
    group: "",
    version: "v1",
    kind: "Node",
    plural: "nodes",
    keepsStatusOnCreate: true,
    shortNames: ["no"],
    scope: "Cluster",
    doc: "A machine on which pods run.",
    subresources: {
      status: { validateUpdate: (node, old) => nodeChangeFaults(node, old) },
      other: { proxy: { verbs: ["create", "delete", "get", "patch", "update"], kind: "NodeProxyOptions" } },
    },
    ageColumn: false,
    columns: [
      {
        name: "Status",
        type: "string",
        doc: "Whether the node is ready and takes pods.",
        value: (node) => nodeStatusText(node),
      },
      {
        name: "Roles",
        type: "string",
        doc: "Roles named by the node's labels.",
        value: (node) => rolesOf(node).join(",") || undefined,
      },
      { name: "Age", type: "string", value: (node, now) => ageOf(node.metadata.creationTimestamp, now) },
      {
        name: "Version",
        type: "string",
        doc: "Version of the kubelet.",
        value: (node) => node.status.nodeInfo.kubeletVersion,
      },
      { name: "Internal-IP", type: "string", priority: 1, value: (node) => addressOf(node, "InternalIP") },
      { name: "External-IP", type: "string", priority: 1, value: (node) => addressOf(node, "ExternalIP") },
      { name: "OS-Image", type: "string", priority: 1, value: (node) => node.status.nodeInfo.osImage || "<unknown>" },
      {
        name: "Kernel-Version",
        type: "string",
        priority: 1,
        value: (node) => node.status.nodeInfo.kernelVersion || "<unknown>",
      },
      {
        name: "Container-Runtime",
        type: "string",
        priority: 1,
        value: (node) => node.status.nodeInfo.containerRuntimeVersion || "<unknown>",
      },
    ],
    fieldSelectors: { "spec.unschedulable": (node) => String(node.spec.unschedulable === true) },
    validateCreate: (node) => nodeFaults(node),
    validateUpdate: (node, old) => [...nodeFaults(node), ...nodeChangeFaults(node, old)],
  },
  fields,
)

/** `Ready`, `NotReady` or `Unknown`, and `SchedulingDisabled` for a cordoned node. */
function nodeStatusText(node: Node): string {
  const ready = node.status.conditions?.find(({ type }) => type === "Ready")
  const text = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady"
  return node.spec.unschedulable === true ? `${text},SchedulingDisabled` : text
}

/** Roles come from the labels `node-role.kubernetes.io/<role>` and, older, `kubernetes.io/role=<role>`. */
function rolesOf(node: Node): readonly string[] {
  const roles = new Set<string>()
  for (const [key, value] of Object.entries(node.metadata.labels ?? {})) {
    if (key.startsWith(ROLE_PREFIX) && key.length > ROLE_PREFIX.length) roles.add(key.slice(ROLE_PREFIX.length))
    if (key === "kubernetes.io/role" && value !== "") roles.add(value)
  }
  return [...roles].sort()
}

const addressOf = (node: Node, type: string): string | undefined =>
  node.status.addresses?.find((address) => address.type === type)?.address
