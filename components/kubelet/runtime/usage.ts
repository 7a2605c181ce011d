/**
 * Usage that the kernel counts for cgroups and for the machine. The CRI has only a part of it, and containerd 1.6
 * nothing for pods. A figure that is absent is not counted on this machine.
 */
export interface UsageMeter {
  machine(): Promise<MachineUsage>
  /** Returns the usage of a cgroup that the kubelet made, by its path as a list; undefined when it does not exist. */
  group(path: readonly string[], detail?: Detail): Promise<Usage | undefined>
  /** Returns the usage of a container in a pod's cgroup, by the runtime's id of the container. */
  container(pod: readonly string[], id: string, detail?: Detail): Promise<Usage | undefined>
  /**
   * Returns the interfaces of the network namespace of a pod, found through its sandbox; none when it has no own
   * namespace.
   */
  interfaces(pod: readonly string[], sandboxId: string): Promise<readonly InterfaceUsage[]>
}

/**
 * How much is read; `all` by default. Processor time and memory are a quarter of the work, and all that metrics servers
 * need.
 */
export type Detail = "all" | "cpu and memory"

export interface Usage {
  readonly cpu?: CpuUsage | undefined
  readonly memory?: MemoryUsage | undefined
  readonly processes?: number | undefined
  readonly io?: readonly DeviceUsage[] | undefined
  readonly pressure?: Pressure | undefined
}

/** How long tasks waited for resources. A resource is absent where the kernel does not tell. */
export interface Pressure {
  readonly cpu?: ResourcePressure | undefined
  readonly memory?: ResourcePressure | undefined
  readonly io?: ResourcePressure | undefined
}

/** `some` is the time in which at least one task waited, `full` that in which all did. */
export interface ResourcePressure {
  readonly some: PressureStall
  readonly full: PressureStall
}

/** Averages are percentages over the last 10, 60 and 300 seconds. */
export interface PressureStall {
  readonly avg10: number
  readonly avg60: number
  readonly avg300: number
  readonly totalMicroseconds: number
}

export interface MachineUsage extends Usage {
  readonly interfaces: readonly InterfaceUsage[]
  /** The name of the interface of the default route. */
  readonly mainInterface?: string | undefined
  readonly swapCapacityBytes: number
  /** When the machine booted, in milliseconds since the epoch. */
  readonly bootedAt: number
}

/** Processor time since the start of what is measured. */
export interface CpuUsage {
  readonly nanoseconds: number
  readonly userNanoseconds?: number
  readonly systemNanoseconds?: number
  readonly throttling?:
    | { readonly periods: number; readonly throttledPeriods: number; readonly throttledNanoseconds: number }
    | undefined
}

/** Current memory usage in bytes; faults and failures are counts since the start. */
export interface MemoryUsage {
  readonly usage: number
  /** Without file pages that can be dropped at once; this figure counts when memory is short. */
  readonly workingSet: number
  /** Memory that is not backed by a file. */
  readonly rss: number
  readonly cache?: number
  readonly mappedFiles?: number
  readonly swap?: number | undefined
  /** The highest usage so far. */
  readonly peak?: number | undefined
  /** Absent when there is no limit. */
  readonly limit?: number | undefined
  readonly pageFaults: number
  readonly majorPageFaults: number
  /** How often usage hit the limit. */
  readonly failures?: number
}

export interface DeviceUsage {
  /** The path of the device, such as `/dev/vda`, if it is known. */
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
