import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { listBeside } from "../dual-stack.ts"
import { ResourceRequirements } from "../resources/resources.ts"

/** Kubelets report what they see, and only a few rules apply to it: those in podstatus-validation.ts. */
const AS_REPORTED = { unchecked: true }

export const PodCondition = message(
  "core.v1.PodCondition",
  "One aspect of a pod's present state.",
  {
    type: f.string(1, "Name of the aspect.").required(),
    observedGeneration: f.int64(7, "Generation of the pod that the condition was made from."),
    status: f.string(2, "True, False or Unknown.").required(),
    lastProbeTime: f.time(3, "When the condition was last checked.").orNull(),
    lastTransitionTime: f.time(4, "When the status last changed.").orNull(),
    reason: f.string(5, "Reason of the last change, one word in CamelCase."),
    message: f.string(6, "The reason in words."),
  },
  AS_REPORTED,
)
export interface PodCondition extends ObjectOf<typeof PodCondition> {}

export const ContainerStateWaiting = message(
  "core.v1.ContainerStateWaiting",
  "A container that has not started yet.",
  {
    reason: f.string(1, "Why it has not, in one word."),
    message: f.string(2, "Why it has not, in words."),
  },
  AS_REPORTED,
)
export interface ContainerStateWaiting extends ObjectOf<typeof ContainerStateWaiting> {}

export const ContainerStateRunning = message(
  "core.v1.ContainerStateRunning",
  "A container that runs.",
  {
    startedAt: f.time(1, "When it was started.").orNull(),
  },
  AS_REPORTED,
)
export interface ContainerStateRunning extends ObjectOf<typeof ContainerStateRunning> {}

export const ContainerStateTerminated = message(
  "core.v1.ContainerStateTerminated",
  "A container that has ended.",
  {
    exitCode: f.int32(1, "Exit code of the last run.").default(0).printZero(),
    signal: f.int32(2, "Signal that ended it."),
    reason: f.string(3, "Why it ended, in one word."),
    message: f.string(4, "Its last words."),
    startedAt: f.time(5, "When it was started.").orNull(),
    finishedAt: f.time(6, "When it ended.").orNull(),
    containerID: f.string(7, "ID of the container, `<runtime>://<id>`."),
  },
  AS_REPORTED,
)
export interface ContainerStateTerminated extends ObjectOf<typeof ContainerStateTerminated> {}

export const ContainerState = message(
  "core.v1.ContainerState",
  "State of a container; the default is waiting.",
  {
    waiting: f.message(1, ContainerStateWaiting, "Not started yet."),
    running: f.message(2, ContainerStateRunning, "Running."),
    terminated: f.message(3, ContainerStateTerminated, "Ended."),
  },
  AS_REPORTED,
)
export interface ContainerState extends ObjectOf<typeof ContainerState> {}

export const LinuxContainerUser = message(
  "core.v1.LinuxContainerUser",
  "The Linux identity of a container's first process.",
  {
    uid: f.int64(1, "User.").default(0).printZero(),
    gid: f.int64(2, "Main group.").default(0).printZero(),
    supplementalGroups: f.list(3, e.int64, "Further groups.").atomic(),
  },
  AS_REPORTED,
)
export interface LinuxContainerUser extends ObjectOf<typeof LinuxContainerUser> {}

export const ContainerUser = message(
  "core.v1.ContainerUser",
  "The identity of a container's first process.",
  {
    linux: f.message(1, LinuxContainerUser, "Its Linux identity."),
  },
  AS_REPORTED,
)
export interface ContainerUser extends ObjectOf<typeof ContainerUser> {}

export const ImageVolumeStatus = message(
  "core.v1.ImageVolumeStatus",
  "The mounted content of an image volume.",
  {
    imageRef: f.string(1, "Digest of the image.").required(),
  },
  AS_REPORTED,
)
export interface ImageVolumeStatus extends ObjectOf<typeof ImageVolumeStatus> {}

export const VolumeStatus = message(
  "core.v1.VolumeStatus",
  "State of a mounted volume.",
  {
    image: f.message(1, ImageVolumeStatus, "For image volumes."),
  },
  AS_REPORTED,
)
export interface VolumeStatus extends ObjectOf<typeof VolumeStatus> {}

export const VolumeMountStatus = message(
  "core.v1.VolumeMountStatus",
  "How a volume is mounted.",
  {
    name: f.string(1, "Name of the mount.").required(),
    mountPath: f.string(2, "Path in the container.").required(),
    readOnly: f.bool(3, "Whether it is read-only."),
    recursiveReadOnly: f.string(4, "How far the read-only state reaches.").pointer(),
    volumeStatus: f.message(5, VolumeStatus, "State of the volume.").disabled(),
  },
  AS_REPORTED,
)
export interface VolumeMountStatus extends ObjectOf<typeof VolumeMountStatus> {}

export const ResourceHealth = message(
  "core.v1.ResourceHealth",
  "Health of a device.",
  {
    resourceID: f.string(1, "Identifier of the device.").required(),
    health: f.string(2, "Healthy, Unhealthy or Unknown."),
    message: f.string(6, "Further words about the health.").pointer(),
  },
  AS_REPORTED,
)
export interface ResourceHealth extends ObjectOf<typeof ResourceHealth> {}

export const ResourceStatus = message(
  "core.v1.ResourceStatus",
  "Health of the devices of one resource.",
  {
    name: f.string(1, "Name of the resource.").required(),
    resources: f.list(2, ResourceHealth, "The devices.").listMap("resourceID"),
  },
  AS_REPORTED,
)
export interface ResourceStatus extends ObjectOf<typeof ResourceStatus> {}

export const ContainerStatus = message(
  "core.v1.ContainerStatus",
  "Present state of a container.",
  {
    name: f.string(1, "Name of the container.").required(),
    state: f.message(2, ContainerState, "What it is doing now.").always(),
    lastState: f.message(3, ContainerState, "How the run before ended.").always(),
    ready: f.bool(4, "Whether it is ready for traffic.").default(false).printZero(),
    restartCount: f.int32(5, "How often it was restarted.").default(0).printZero(),
    image: f.string(6, "Image that it runs.").default("").printZero(),
    imageID: f.string(7, "ID of that image.").default("").printZero(),
    containerID: f.string(8, "ID of the container, `<runtime>://<id>`."),
    started: f.bool(9, "Whether it has started and passed its startup probe.").pointer(),
    allocatedResources: f.map(10, e.quantity, "What the node has set aside."),
    resources: f.message(11, ResourceRequirements, "Requests and limits in force."),
    volumeMounts: f.list(12, VolumeMountStatus, "How its volumes are mounted.").listMap("mountPath").merge("mountPath"),
    user: f.message(13, ContainerUser, "Identity of its first process."),
    allocatedResourcesStatus: f.list(14, ResourceStatus, "Health of its devices.").listMap("name").merge("name"),
    stopSignal: f.string(15, "Signal that asks it to end.").pointer(),
  },
  AS_REPORTED,
)
export interface ContainerStatus extends ObjectOf<typeof ContainerStatus> {}

export const HostIP = message(
  "core.v1.HostIP",
  "An address of the node.",
  {
    ip: f.string(1, "The address.").required(),
  },
  AS_REPORTED,
)
export interface HostIP extends ObjectOf<typeof HostIP> {}

export const PodIP = message(
  "core.v1.PodIP",
  "An address of the pod.",
  {
    ip: f.string(1, "The address.").required(),
  },
  AS_REPORTED,
)
export interface PodIP extends ObjectOf<typeof PodIP> {}

export const PodResourceClaimStatus = message(
  "core.v1.PodResourceClaimStatus",
  "The claim made for an entry of resourceClaims.",
  {
    name: f.string(1, "Name of the entry.").required(),
    resourceClaimName: f.string(2, "Name of the claim.").pointer(),
  },
  AS_REPORTED,
)
export interface PodResourceClaimStatus extends ObjectOf<typeof PodResourceClaimStatus> {}

export const ContainerExtendedResourceRequest = message(
  "core.v1.ContainerExtendedResourceRequest",
  "Ties an extended resource of a container to a device request.",
  {
    containerName: f.string(1, "Name of the container.").required(),
    resourceName: f.string(2, "Name of the resource.").required(),
    requestName: f.string(3, "Name of the request.").required(),
  },
  AS_REPORTED,
)
export interface ContainerExtendedResourceRequest extends ObjectOf<typeof ContainerExtendedResourceRequest> {}

export const PodExtendedResourceClaimStatus = message(
  "core.v1.PodExtendedResourceClaimStatus",
  "The claim made for extended resources.",
  {
    requestMappings: f
      .list(1, ContainerExtendedResourceRequest, "Which request serves which container.")
      .required()
      .atomic(),
    resourceClaimName: f.string(2, "Name of the claim.").required(),
  },
  AS_REPORTED,
)
export interface PodExtendedResourceClaimStatus extends ObjectOf<typeof PodExtendedResourceClaimStatus> {}

export const NodeAllocatableResourceClaimStatus = message(
  "core.v1.NodeAllocatableResourceClaimStatus",
  "The node resources that a claim uses.",
  {
    resourceClaimName: f.string(1, "Name of the claim.").required(),
    containers: f.list(2, e.string, "Containers that use it.").listSet(),
    resources: f.map(3, e.quantity, "The amounts by resource.").required(),
  },
  AS_REPORTED,
)
export interface NodeAllocatableResourceClaimStatus extends ObjectOf<typeof NodeAllocatableResourceClaimStatus> {}

export const PodStatus = message(
  "core.v1.PodStatus",
  "Present state of a pod, as the kubelet reports it.",
  {
    observedGeneration: f.int64(17, "Generation that the kubelet has acted on."),
    phase: f.string(1, "Where the pod is in its life.").enum("Pending", "Running", "Succeeded", "Failed", "Unknown"),
    conditions: f.list(2, PodCondition, "Present state, aspect by aspect.").listMap("type").merge("type"),
    message: f.string(3, "Why the pod is in this state, in words."),
    reason: f.string(4, "Why the pod is in this state, in one word."),
    nominatedNodeName: f.string(11, "Node on which room is being made for the pod."),
    hostIP: f.string(5, "Address of the node."),
    hostIPs: f.list(16, HostIP, "Addresses of the node.").atomic().merge("ip"),
    podIP: f.string(6, "Address of the pod."),
    podIPs: f.list(12, PodIP, "Addresses of the pod, at most one of each family.").listMap("ip").merge("ip"),
    startTime: f.time(7, "When the kubelet saw the pod first."),
    initContainerStatuses: f.list(10, ContainerStatus, "State of the init containers.").atomic(),
    containerStatuses: f.list(8, ContainerStatus, "State of the containers.").atomic(),
    qosClass: f.string(9, "Class of service, from requests and limits.").enum("Guaranteed", "Burstable", "BestEffort"),
    ephemeralContainerStatuses: f.list(13, ContainerStatus, "State of the ephemeral containers.").atomic(),
    resize: f.string(14, "Deprecated; see the conditions."),
    resourceClaimStatuses: f
      .list(15, PodResourceClaimStatus, "Claims made for resourceClaims.")
      .listMap("name")
      .merge("name")
      .retainKeys(),
    extendedResourceClaimStatus: f.message(18, PodExtendedResourceClaimStatus, "Claim made for extended resources."),
    allocatedResources: f.map(19, e.quantity, "What the node has set aside for the pod."),
    resources: f.message(20, ResourceRequirements, "Requests and limits of the pod in force."),
    nodeAllocatableResourceClaimStatuses: f
      .list(21, NodeAllocatableResourceClaimStatus, "What the claims take from the node.")
      .atomic()
      .disabled(),
  },
  { ...AS_REPORTED, defaults: podIPDefaults },
)
export interface PodStatus extends ObjectOf<typeof PodStatus> {}

/** Fills podIP from podIPs and podIPs from podIP, as upstream does when it converts versions. */
function podIPDefaults<
  T extends { readonly podIP?: string | undefined; readonly podIPs?: readonly PodIP[] | undefined },
>(status: T): T {
  const { podIP = "", podIPs = NO_IPS } = status
  const list = listBeside(
    podIP,
    podIPs,
    ({ ip }) => ip,
    (ip) => ({ ip }),
  )
  const [first] = list
  return first === undefined || (first.ip === podIP && list === podIPs)
    ? status
    : { ...status, podIP: first.ip, podIPs: list }
}
const NO_IPS: readonly PodIP[] = []
