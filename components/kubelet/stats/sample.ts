import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerStats as CriContainerStats } from "../../../pkg/cri/stats.ts"
import type { KubeletContext } from "../context.ts"
import type { PodWorkers } from "../pod/pod-workers.ts"
import type { RuntimeCache } from "../pod/runtime-cache.ts"
import type { RuntimeContainer, RuntimeSandbox } from "../pod/runtime-pod.ts"
import type { FilesystemSpace } from "../runtime/runtime.ts"
import type { Detail, InterfaceUsage, MachineUsage, Usage } from "../runtime/usage.ts"
import { podCgroup } from "../sandbox/sandbox-config.ts"
import { containerStorage, statsById, type ContainerStorage, type StatsById } from "./local-storage.ts"
import type { VolumeUsages } from "./volume-usage.ts"

/** What everything on the node uses at one moment: what the summary and the metrics are made of. */
export interface Sample {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly machine: MachineUsage
  /** All pods together. */
  readonly pods: Usage | undefined
  readonly each: readonly PodSample[]
}

export interface PodSample {
  readonly pod: Pod
  readonly sandbox: RuntimeSandbox
  /** Path of the cgroup, in parts. */
  readonly cgroup: readonly string[]
  readonly usage: Usage | undefined
  readonly interfaces: readonly InterfaceUsage[]
  readonly containers: readonly ContainerSample[]
}

export interface ContainerSample extends ContainerStorage {
  readonly usage: Usage | undefined
}

/** File systems of the node. */
export interface Disks {
  readonly root: FilesystemSpace
  readonly logs: FilesystemSpace
  /** Where images and the writable layers of containers are, and what the images use of it. */
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
 * Asks kernel and runtime for everything at once. Nothing is asked unless somebody wants to know: with `cpu and memory`
 * there is nothing of disks and networks in it.
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

/** What the runtime says of containers, which is asked for once, when it is first wanted. */
type CriStats = () => Promise<StatsById>

/** Cpu time and memory alone. The runtime is asked only of a container whose cgroup is elsewhere. */
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

/** What the runtime itself says of a container whose cgroup is elsewhere. */
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

/** Looks at the node's file systems. */
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
