import { Empty, service } from "../../../pkg/grpc/rpc.ts"
import { field, message, repeated, type InitOf } from "../../../pkg/protobuf/message.ts"

/**
 * How programs of the node ask the kubelet which devices containers have. Source: k8s.io/kubelet
 * pkg/apis/podresources/v1/api.proto; v1alpha1 has the first of these fields under the same numbers.
 */

const Topology = message({ nodes: repeated(1, message({ id: field(1, "int64") })) })

export const ContainerDevices = message({
  resourceName: field(1, "string"),
  deviceIds: repeated(2, "string"),
  /** The NUMA node of the devices; absent when their plugin does not tell it. */
  topology: field(3, Topology),
})
export interface ContainerDevices extends InitOf<typeof ContainerDevices> {}

const ContainerMemory = message({
  memoryType: field(1, "string"),
  size: field(2, "uint64"),
  topology: field(3, Topology),
})

const ClaimResource = message({
  cdiDevices: repeated(1, message({ name: field(1, "string") })),
  driverName: field(2, "string"),
  poolName: field(3, "string"),
  deviceName: field(4, "string"),
  /** Absent for a device that is not shared. */
  shareId: field(5, "string"),
})

export const DynamicResource = message({
  claimName: field(2, "string"),
  claimNamespace: field(3, "string"),
  claimResources: repeated(4, ClaimResource),
})
export interface DynamicResource extends InitOf<typeof DynamicResource> {}

const ContainerResources = message({
  name: field(1, "string"),
  devices: repeated(2, ContainerDevices),
  /** Empty without a CPU manager, as is `memory` without a memory manager. */
  cpuIds: repeated(3, "int64"),
  memory: repeated(4, ContainerMemory),
  dynamicResources: repeated(5, DynamicResource),
})

export const PodResources = message({
  name: field(1, "string"),
  namespace: field(2, "string"),
  containers: repeated(3, ContainerResources),
})
export interface PodResources extends InitOf<typeof PodResources> {}

const AllPods = message({ podResources: repeated(1, PodResources) })

const v1 = service("v1.PodResourcesLister")
export const List = v1("List", Empty, AllPods)
export const GetAllocatableResources = v1(
  "GetAllocatableResources",
  Empty,
  message({
    devices: repeated(1, ContainerDevices),
    cpuIds: repeated(2, "int64"),
    memory: repeated(3, ContainerMemory),
  }),
)
export const Get = v1(
  "Get",
  message({ podName: field(1, "string"), podNamespace: field(2, "string") }),
  message({ podResources: field(1, PodResources) }),
)
export const ListAlpha = service("v1alpha1.PodResourcesLister")("List", Empty, AllPods)
