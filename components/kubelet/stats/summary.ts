import { formatTime } from "../../../pkg/apimachinery/scalars/time.ts"
import { ephemeralClaimName } from "../../../pkg/pods/pod-claims.ts"
import type { FilesystemSpace } from "../runtime/runtime.ts"
import type { InterfaceUsage, PressureStall, ResourcePressure, Usage } from "../runtime/usage.ts"
import type { CpuRateAsking } from "./cpu-rates.ts"
import type { ContainerSample, Disks, PodSample, Sample } from "./sample.ts"
import type {
  ContainerStats,
  FsStats,
  InterfaceStats,
  NetworkStats,
  PodStats,
  PsiStats,
  Summary,
  VolumeStats,
} from "./summary-types.ts"
import { localUsage, writableBytes } from "./local-storage.ts"
import type { VolumeUsage } from "./volume-usage.ts"

export interface SummaryOptions {
  readonly nodeName: string
  readonly memoryBytes: number
  readonly sample: Sample
  /** Everything except cpu and memory; undefined when the client asks for these two only. */
  readonly rest?: {
    readonly disks: Disks
    readonly processes: { readonly used: number; readonly max: number }
    /** By the pod's uid. */
    readonly volumes: ReadonlyMap<string, readonly VolumeUsage[]>
  }
  readonly rate: CpuRateAsking
}

/**
 * Returns the usage of the node and its pods in the form that metrics servers read. Source:
 * pkg/kubelet/server/stats/summary.go, pkg/kubelet/stats/cri_stats_provider.go.
 */
export function summaryOf({ nodeName, memoryBytes, sample, rest, rate }: SummaryOptions): Summary {
  const { at, machine, pods } = sample
  const time = formatTime(at)
  const since = machine.bootedAt
  const shown = new Presenter(at, rate)
  const systemContainers: readonly ContainerStats[] =
    pods === undefined
      ? []
      : [{ name: "pods", startTime: formatTime(since), ...shown.usage("pods", since, pods, memoryBytes) }]
  return {
    node: {
      nodeName,
      systemContainers,
      startTime: formatTime(since),
      ...shown.usage("node", since, machine, memoryBytes),
      ...(machine.swapCapacityBytes === 0
        ? {}
        : {
            swap: {
              time,
              swapUsageBytes: machine.memory?.swap ?? 0,
              swapAvailableBytes: machine.swapCapacityBytes - (machine.memory?.swap ?? 0),
            },
          }),
      ...(rest === undefined
        ? {}
        : {
            network: shown.network(machine.interfaces, machine.mainInterface),
            fs: shown.disk(
              rest.disks.root,
              rest.disks.root.usedBytes,
              rest.disks.root.inodes - rest.disks.root.inodesFree,
            ),
            runtime:
              rest.disks.images === undefined
                ? {}
                : {
                    imageFs: shown.disk(
                      rest.disks.images.space,
                      rest.disks.images.usedBytes,
                      rest.disks.images.inodesUsed,
                    ),
                    containerFs: shown.disk(
                      rest.disks.images.space,
                      sample.each.flatMap(({ containers }) => containers.map(writableBytes)).reduce((a, b) => a + b, 0),
                    ),
                  },
            rlimit: { time, maxpid: rest.processes.max, curproc: rest.processes.used },
          }),
    },
    pods: sample.each.map((pod) => shown.pod(pod, rest)),
  }
}

/** Converts a sample to the types of the summary. */
class Presenter {
  readonly #time: string
  readonly #at: number
  readonly #rate: CpuRateAsking

  constructor(at: number, rate: CpuRateAsking) {
    this.#at = at
    this.#time = formatTime(at)
    this.#rate = rate
  }

  pod(
    {
      pod: {
        metadata: { name = "", namespace = "", uid = "" },
      },
      sandbox,
      usage,
      interfaces,
      containers,
    }: PodSample,
    rest: SummaryOptions["rest"],
  ): PodStats {
    const stats = {
      podRef: { name, namespace, uid },
      startTime: formatTime(sandbox.createdAt),
      containers: containers.map((container) => this.#container(container, rest?.disks)),
      ...this.usage(uid, sandbox.createdAt, usage),
    }
    if (rest === undefined) return stats
    const volumes = rest.volumes.get(uid) ?? []
    return {
      ...stats,
      "ephemeral-storage": this.disk(rest.disks.root, localUsage(containers, volumes).total),
      ...(volumes.length === 0 ? {} : { volume: volumes.map((usage) => this.#volume(usage, name, namespace)) }),
      ...(interfaces.length === 0 ? {} : { network: this.network(interfaces, interfaces[0]?.name) }),
      ...(usage?.processes === undefined ? {} : { process_stats: { process_count: usage.processes } }),
    }
  }

  #container({ run, usage, writableLayer, logBytes }: ContainerSample, disks: Disks | undefined): ContainerStats {
    const stats = { name: run.name, startTime: formatTime(run.startedAt), ...this.usage(run.id, run.startedAt, usage) }
    if (disks === undefined) return stats
    return {
      ...stats,
      ...(disks.images === undefined
        ? {}
        : { rootfs: this.disk(disks.images.space, writableLayer?.usedBytes?.value, writableLayer?.inodesUsed?.value) }),
      logs: this.disk(disks.logs, logBytes),
    }
  }

  #volume(
    { volume, measured: { at, space, usedBytes, inodesUsed } }: VolumeUsage,
    pod: string,
    namespace: string,
  ): VolumeStats {
    const { name, persistentVolumeClaim, ephemeral } = volume
    const claim =
      persistentVolumeClaim?.claimName ?? (ephemeral === undefined ? undefined : ephemeralClaimName(pod, name))
    return {
      name,
      ...(claim === undefined ? {} : { pvcRef: { name: claim, namespace } }),
      ...this.disk(space, usedBytes, inodesUsed),
      time: formatTime(at),
    }
  }

  /** `most` is the memory available to what is measured, in bytes, unless its own limit is lower. */
  usage(
    id: string,
    since: number,
    usage: Usage | undefined,
    most?: number,
  ): Pick<PodStats, "cpu" | "memory" | "swap" | "io"> {
    const time = this.#time
    const { cpu, memory, pressure } = usage ?? {}
    const limit = memory?.limit ?? most
    const rate = cpu === undefined ? undefined : this.#rate(id, since, { at: this.#at, nanoseconds: cpu.nanoseconds })
    return {
      ...(cpu === undefined
        ? {}
        : {
            cpu: {
              time,
              ...(rate === undefined ? {} : { usageNanoCores: rate }),
              usageCoreNanoSeconds: cpu.nanoseconds,
              ...psiOf(pressure?.cpu),
            },
          }),
      ...(memory === undefined
        ? {}
        : {
            memory: {
              time,
              ...(limit === undefined ? {} : { availableBytes: Math.max(0, limit - memory.workingSet) }),
              usageBytes: memory.usage,
              workingSetBytes: memory.workingSet,
              rssBytes: memory.rss,
              pageFaults: memory.pageFaults,
              majorPageFaults: memory.majorPageFaults,
              ...psiOf(pressure?.memory),
            },
          }),
      ...(memory?.swap === undefined ? {} : { swap: { time, swapUsageBytes: memory.swap } }),
      ...(pressure?.io === undefined ? {} : { io: { time, psi: psiStats(pressure.io) } }),
    }
  }

  network(interfaces: readonly InterfaceUsage[], main: string | undefined): NetworkStats {
    const all = interfaces.map(({ name, received, transmitted }): InterfaceStats => ({
      name,
      rxBytes: received.bytes,
      rxErrors: received.errors,
      txBytes: transmitted.bytes,
      txErrors: transmitted.errors,
    }))
    return { time: this.#time, ...all.find(({ name }) => name === main), interfaces: all }
  }

  disk(
    { availableBytes, capacityBytes, inodesFree, inodes }: FilesystemSpace,
    usedBytes?: number,
    inodesUsed?: number,
  ): FsStats {
    return {
      time: this.#time,
      availableBytes,
      capacityBytes,
      ...(usedBytes === undefined ? {} : { usedBytes }),
      inodesFree,
      inodes,
      ...(inodesUsed === undefined ? {} : { inodesUsed }),
    }
  }
}

const psiOf = (pressure: ResourcePressure | undefined) => (pressure === undefined ? {} : { psi: psiStats(pressure) })
const psiStats = ({ full, some }: ResourcePressure): PsiStats => ({ full: psiData(full), some: psiData(some) })
const psiData = ({ totalMicroseconds: total, ...averages }: PressureStall) => ({ total, ...averages })
