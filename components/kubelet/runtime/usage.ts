/**
 * What the kernel counts for cgroups and for the machine: what the CRI tells only in part, and containerd 1.6 not at
 * all for pods. Anything absent is not counted here.
 */
export interface UsageMeter {
  machine(): Promise<MachineUsage>
  /** Of a cgroup that the kubelet made, by its path in parts; undefined when it is not there. */
  group(path: readonly string[], detail?: Detail): Promise<Usage | undefined>
  /** Of a container in a pod's cgroup, by the runtime's id of it. */
  container(pod: readonly string[], id: string, detail?: Detail): Promise<Usage | undefined>
  /** Of the network that a pod has to itself, found through its sandbox. None where it has not. */
  interfaces(pod: readonly string[], sandboxId: string): Promise<readonly InterfaceUsage[]>
}

/** How much is read, all unless told: cpu time and memory are a quarter of the work, and what metrics servers want. */
export type Detail = "all" | "cpu and memory"

export interface Usage {
  readonly cpu?: CpuUsage | undefined
  readonly memory?: MemoryUsage | undefined
  readonly processes?: number | undefined
  readonly io?: readonly DeviceUsage[] | undefined
}

export interface MachineUsage extends Usage {
  readonly interfaces: readonly InterfaceUsage[]
  /** Name of the interface that the default route leaves by. */
  readonly mainInterface?: string | undefined
  readonly swapCapacityBytes: number
  /** When it was started, in milliseconds since 1970. */
  readonly bootedAt: number
}

/** Counted since the beginning of what uses it. */
export interface CpuUsage {
  readonly nanoseconds: number
  readonly userNanoseconds?: number
  readonly systemNanoseconds?: number
  readonly throttling?:
    | { readonly periods: number; readonly throttledPeriods: number; readonly throttledNanoseconds: number }
    | undefined
}

/** In bytes, as of now; faults and failures are counted since the beginning. */
export interface MemoryUsage {
  readonly usage: number
  /** Without pages of files that could be dropped at once: what counts when memory is short. */
  readonly workingSet: number
  /** Memory that no file stands behind. */
  readonly rss: number
  readonly cache?: number
  readonly mappedFiles?: number
  readonly swap?: number | undefined
  /** The most there has been. */
  readonly peak?: number | undefined
  /** Absent where there is none. */
  readonly limit?: number | undefined
  readonly pageFaults: number
  readonly majorPageFaults: number
  /** How often the limit was hit. */
  readonly failures?: number
}

export interface DeviceUsage {
  /** `/dev/vda`, as far as it is known. */
  readonly device: string
  readonly major: string
  readonly minor: string
  readonly readBytes: number
  readonly writtenBytes: number
  readonly reads: number
  readonly writes: number
}

export interface InterfaceUsage {
  readonly name: string
  readonly received: Traffic
  readonly transmitted: Traffic
}

export interface Traffic {
  readonly bytes: number
  readonly packets: number
  readonly errors: number
  readonly dropped: number
}
