/**
 * The response of /stats/summary, with the field names that metrics servers read. Times are in RFC 3339; what was not
 * measured is absent. Source: k8s.io/kubelet pkg/apis/stats/v1alpha1/types.go.
 */

export interface Summary {
  readonly node: NodeStats
  readonly pods: readonly PodStats[]
}

export interface NodeStats extends Measured {
  readonly nodeName: string
  readonly systemContainers?: readonly ContainerStats[]
  readonly startTime: string
  readonly network?: NetworkStats
  readonly fs?: FsStats
  readonly runtime?: { readonly imageFs?: FsStats; readonly containerFs?: FsStats }
  readonly rlimit?: { readonly time: string; readonly maxpid: number; readonly curproc: number }
}

export interface PodStats extends Measured {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string }
  readonly startTime: string
  readonly containers: readonly ContainerStats[]
  readonly network?: NetworkStats
  readonly volume?: readonly VolumeStats[]
  readonly "ephemeral-storage"?: FsStats
  readonly process_stats?: { readonly process_count: number }
}

export interface ContainerStats extends Measured {
  readonly name: string
  readonly startTime: string
  readonly rootfs?: FsStats
  readonly logs?: FsStats
}

interface Measured {
  readonly cpu?: CpuStats
  readonly memory?: MemoryStats
  readonly swap?: SwapStats
  readonly io?: { readonly time: string; readonly psi: PsiStats }
}

/** How long tasks waited for a resource; averages in percent, the total in microseconds, as the kernel has it. */
export interface PsiStats {
  readonly full: PsiData
  readonly some: PsiData
}
interface PsiData {
  readonly total: number
  readonly avg10: number
  readonly avg60: number
  readonly avg300: number
}

export interface CpuStats {
  readonly time: string
  readonly usageNanoCores?: number
  readonly usageCoreNanoSeconds: number
  readonly psi?: PsiStats
}

export interface MemoryStats {
  readonly time: string
  readonly availableBytes?: number
  readonly usageBytes: number
  readonly workingSetBytes: number
  readonly rssBytes: number
  readonly pageFaults: number
  readonly majorPageFaults: number
  readonly psi?: PsiStats
}

export interface SwapStats {
  readonly time: string
  readonly swapAvailableBytes?: number
  readonly swapUsageBytes: number
}

export interface InterfaceStats {
  readonly name: string
  readonly rxBytes: number
  readonly rxErrors: number
  readonly txBytes: number
  readonly txErrors: number
}

/** The main interface, and the list of all. */
export interface NetworkStats extends Partial<InterfaceStats> {
  readonly time: string
  readonly interfaces: readonly InterfaceStats[]
}

export interface VolumeStats extends FsStats {
  readonly name: string
  readonly pvcRef?: { readonly name: string; readonly namespace: string }
}

export interface FsStats {
  readonly time: string
  readonly availableBytes: number
  readonly capacityBytes: number
  readonly usedBytes?: number
  readonly inodesFree: number
  readonly inodes: number
  readonly inodesUsed?: number
}
