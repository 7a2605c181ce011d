/**
 * The resources that containers, sandboxes and image stores use. Source: kubernetes/cri-api
 * pkg/apis/runtime/v1/api.proto.
 */
import { field, map, message, repeated, type DecodedOf, type InitOf } from "../protobuf/message.ts"
import { ContainerMetadata } from "./container.ts"
import { PodSandboxMetadata } from "./sandbox.ts"

const UInt64Value = message({ value: field(1, "uint64") })

const PsiData = message({
  total: field(1, "uint64"),
  avg10: field(2, "double"),
  avg60: field(3, "double"),
  avg300: field(4, "double"),
})
const PsiStats = message({ full: field(1, PsiData), some: field(2, PsiData) })

/** Times are in nanoseconds since 1970. A wrapped number that is absent was not measured. */
export const CpuUsage = message({
  timestamp: field(1, "int64"),
  usageCoreNanoSeconds: field(2, UInt64Value),
  usageNanoCores: field(3, UInt64Value),
  psi: field(4, PsiStats),
})

export const MemoryUsage = message({
  timestamp: field(1, "int64"),
  workingSetBytes: field(2, UInt64Value),
  availableBytes: field(3, UInt64Value),
  usageBytes: field(4, UInt64Value),
  rssBytes: field(5, UInt64Value),
  pageFaults: field(6, UInt64Value),
  majorPageFaults: field(7, UInt64Value),
  psi: field(8, PsiStats),
})

const SwapUsage = message({
  timestamp: field(1, "int64"),
  swapAvailableBytes: field(2, UInt64Value),
  swapUsageBytes: field(3, UInt64Value),
})

const IoUsage = message({ timestamp: field(1, "int64"), psi: field(2, PsiStats) })

export const FilesystemUsage = message({
  timestamp: field(1, "int64"),
  fsId: field(2, message({ mountpoint: field(1, "string") })),
  usedBytes: field(3, UInt64Value),
  inodesUsed: field(4, UInt64Value),
})
export interface FilesystemUsage extends DecodedOf<typeof FilesystemUsage> {}

export const ContainerStats = message({
  attributes: field(
    1,
    message({
      id: field(1, "string"),
      metadata: field(2, ContainerMetadata),
      labels: map(3, "string"),
      annotations: map(4, "string"),
    }),
  ),
  cpu: field(2, CpuUsage),
  memory: field(3, MemoryUsage),
  writableLayer: field(4, FilesystemUsage),
  swap: field(5, SwapUsage),
  io: field(6, IoUsage),
})
export interface ContainerStats extends DecodedOf<typeof ContainerStats> {}

export const ContainerStatsFilter = message({
  id: field(1, "string"),
  podSandboxId: field(2, "string"),
  labelSelector: map(3, "string"),
})
export interface ContainerStatsFilter extends InitOf<typeof ContainerStatsFilter> {}

const NetworkInterfaceUsage = message({
  name: field(1, "string"),
  rxBytes: field(2, UInt64Value),
  rxErrors: field(3, UInt64Value),
  txBytes: field(4, UInt64Value),
  txErrors: field(5, UInt64Value),
})

const NetworkUsage = message({
  timestamp: field(1, "int64"),
  defaultInterface: field(2, NetworkInterfaceUsage),
  interfaces: repeated(3, NetworkInterfaceUsage),
})

const LinuxPodSandboxStats = message({
  cpu: field(1, CpuUsage),
  memory: field(2, MemoryUsage),
  network: field(3, NetworkUsage),
  process: field(4, message({ timestamp: field(1, "int64"), processCount: field(2, UInt64Value) })),
  containers: repeated(5, ContainerStats),
  io: field(6, IoUsage),
})

export const PodSandboxStats = message({
  attributes: field(
    1,
    message({
      id: field(1, "string"),
      metadata: field(2, PodSandboxMetadata),
      labels: map(3, "string"),
      annotations: map(4, "string"),
    }),
  ),
  linux: field(2, LinuxPodSandboxStats),
})
export interface PodSandboxStats extends DecodedOf<typeof PodSandboxStats> {}

export const PodSandboxStatsFilter = message({ id: field(1, "string"), labelSelector: map(2, "string") })
export interface PodSandboxStatsFilter extends InitOf<typeof PodSandboxStatsFilter> {}
