import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerStats as CriContainerStats } from "../../../pkg/cri/stats.ts"
import type { KubeletContext } from "../context.ts"
import type { PodWorkers } from "../pod/pod-workers.ts"
import type { RuntimeCache } from "../pleg/runtime-cache.ts"
import type { RuntimeContainer, RuntimeSandbox } from "../model/runtime-pod.ts"
import type { FilesystemSpace } from "../runtime/runtime.ts"
import type { Detail, InterfaceUsage, MachineUsage, Usage } from "../runtime/usage.ts"
import { podCgroup } from "../sandbox/sandbox-config.ts"
import { containerStorage, statsById, type ContainerStorage, type StatsById } from "./local-storage.ts"
import type { VolumeUsages } from "./volume-usage.ts"

/** The usage of everything on the node at one moment, from which the summary and the metrics are made. */
export interface Sample {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly machine: MachineUsage
  /** The usage of all pods together. */
  readonly pods: Usage | undefined
  readonly each: readonly PodSample[]
}

export interface PodSample {
  readonly pod: Pod
  readonly sandbox: RuntimeSandbox
  /** The path of the cgroup as a list. */
  readonly cgroup: readonly string[]
  readonly usage: Usage | undefined
  readonly interfaces: readonly InterfaceUsage[]
  readonly containers: readonly ContainerSample[]
}

export interface ContainerSample extends ContainerStorage {
  readonly usage: Usage | undefined
}

/** The file systems of the node. */
export interface Disks {
  readonly root: FilesystemSpace
  readonly logs: FilesystemSpace
  /** The file system of images and of the writable layers of containers, and the space that images use there. */
  readonly images:
    | { readonly space: FilesystemSpace; readonly usedBytes: number; readonly inodesUsed: number | undefined }
    | undefined
}

export interface StatsParts {
  readonly context: KubeletContext
  readonly cache: RuntimeCache
  readonly workers: PodWorkers
  readonly volumeUsages: VolumeUsages
}

/**
 * Reads the usage of everything from kernel and runtime. Called only when a client asks for statistics. With `cpu and
 * memory` disks and networks are not read.
 */
export async function takeSample({ context, cache, workers }: StatsParts, detail: Detail = "all"): Promise<Sample> {
  const { runtime, clock } = context
  const isAll = detail === "all"
  let stats: Promise<StatsById> | undefined
  const byId = () => (stats ??= statsById(context))
  const [machine, pods] = await Promise.all([
    runtime.usage.machine(),
    runtime.usage.group(["kubepods"], detail),
    isAll ? byId() : undefined,
  ])
  const each = await Promise.all(
    workers.pods().map(async (pod): Promise<PodSample | undefined> => {
      const { sandboxes = [], containers = [] } = cache.get(pod.metadata.uid!) ?? {}
      const sandbox = sandboxes.find(({ ready }) => ready)
      if (sandbox === undefined) return undefined
      const cgroup = podCgroup(pod)
      const running = containers.filter(({ state }) => state === "running")
      const [usage, interfaces, samples] = await Promise.all([
        runtime.usage.group(cgroup, detail),
        sandbox.hostNetwork || !isAll ? [] : runtime.usage.interfaces(cgroup, sandbox.id),
        Promise.all(
          running.map((run) =>
            isAll ? containerSample(context, cgroup, run, byId) : usedBy(context, cgroup, run, byId),
          ),
        ),
      ])
      return { pod, sandbox, cgroup, usage, interfaces, containers: samples }
    }),
  )
  return { at: clock.now(), machine, pods, each: each.filter((one) => one !== undefined) }
}

/** Returns the runtime's statistics of containers; the runtime is asked once, at the first call. */
type CriStats = () => Promise<StatsById>

/**
 * Reads processor time and memory of a container. The runtime is asked only when the cgroup of the container is not
 * below that of the pod.
 */
async function usedBy(
  { runtime }: KubeletContext,
  cgroup: readonly string[],
  run: RuntimeContainer,
  byId: CriStats,
): Promise<ContainerSample> {
  const counted = await runtime.usage.container(cgroup, run.id, "cpu and memory")
  const usage = counted ?? usageFrom((await byId()).get(run.id))
  return { run, usage, writableLayer: undefined, logBytes: undefined }
}

async function containerSample(
  context: KubeletContext,
  cgroup: readonly string[],
  run: RuntimeContainer,
  byId: CriStats,
): Promise<ContainerSample> {
  const [counted, storage, all] = await Promise.all([
    context.runtime.usage.container(cgroup, run.id),
    containerStorage(context, run, byId()),
    byId(),
  ])
  return { ...storage, usage: counted ?? usageFrom(all.get(run.id)) }
}

/** Returns the usage that the runtime reports for a container whose cgroup is not below that of the pod. */
function usageFrom(stats: CriContainerStats | undefined): Usage | undefined {
  if (stats === undefined) return undefined
  const { cpu, memory } = stats
  return {
    cpu: cpu?.usageCoreNanoSeconds === undefined ? undefined : { nanoseconds: cpu.usageCoreNanoSeconds.value },
    memory:
      memory?.workingSetBytes === undefined
        ? undefined
        : {
            usage: memory.usageBytes?.value ?? memory.workingSetBytes.value,
            workingSet: memory.workingSetBytes.value,
            rss: memory.rssBytes?.value ?? 0,
            pageFaults: memory.pageFaults?.value ?? 0,
            majorPageFaults: memory.majorPageFaults?.value ?? 0,
          },
  }
}

/** Measures the node's file systems. */
export async function measureDisks({ config, runtime }: KubeletContext): Promise<Disks> {
  const [
    root,
    logs,
    {
      imageFilesystems: [images],
    },
  ] = await Promise.all([
    runtime.machine.space(config.root),
    runtime.machine.space(config.podLogs),
    runtime.images.imageFsInfo(),
  ])
  const place = images?.fsId?.mountpoint
  return {
    root,
    logs,
    images:
      images === undefined || place === undefined || place === ""
        ? undefined
        : {
            space: await runtime.machine.space(place),
            usedBytes: images.usedBytes?.value ?? 0,
            inodesUsed: images.inodesUsed?.value,
          },
  }
}
