/** The resources that a container may use. Source: kubernetes/cri-api pkg/apis/runtime/v1/api.proto. */
import { field, map, message, repeated, type InitOf } from "../protobuf/message.ts"

const HugepageLimit = message({ pageSize: field(1, "string"), limit: field(2, "uint64") })

/** 0 leaves a value at the runtime's default. */
export const LinuxContainerResources = message({
  /** In microseconds, as is the quota of each period. */
  cpuPeriod: field(1, "int64"),
  cpuQuota: field(2, "int64"),
  cpuShares: field(3, "int64"),
  memoryLimitInBytes: field(4, "int64"),
  oomScoreAdj: field(5, "int64"),
  cpusetCpus: field(6, "string"),
  cpusetMems: field(7, "string"),
  hugepageLimits: repeated(8, HugepageLimit),
  /** Files of cgroup v2 by name, such as `memory.high`. */
  unified: map(9, "string"),
  memorySwapLimitInBytes: field(10, "int64"),
})
export interface LinuxContainerResources extends InitOf<typeof LinuxContainerResources> {}
