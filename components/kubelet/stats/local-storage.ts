import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerStats, FilesystemUsage } from "../../../pkg/cri/stats.ts"
import type { KubeletContext } from "../context.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"
import { etcHosts, terminationFile } from "../model/pod-paths.ts"
import type { RuntimeCache } from "../pleg/runtime-cache.ts"
import type { RuntimeContainer } from "../model/runtime-pod.ts"
import { isOnDisk, type VolumeUsage } from "./volume-usage.ts"

/** The runtime's statistics by the id of the container. */
export type StatsById = ReadonlyMap<string | undefined, ContainerStats>

/** What a running container takes of the node's storage, apart from volumes. */
export interface ContainerStorage {
  readonly run: RuntimeContainer
  readonly writableLayer: FilesystemUsage | undefined
  /** Undefined if there is no log. */
  readonly logBytes: number | undefined
  /**
   * The file of its termination message, which it can fill without end. Differs from upstream, which does not count it.
   */
  readonly messageBytes?: number
}

/** What a pod takes of the node's storage, in bytes. */
export interface LocalUsage {
  /** Writable layers and logs of containers, and volumes on disk, together. */
  readonly total: number
  /** The number of files and folders in the same. */
  readonly inodes: number
  /**
   * When the runtime measured the oldest of the writable layers, in milliseconds since the epoch: 0 for one that it has
   * not measured yet. Infinity without any.
   */
  readonly layersMeasuredAt: number
  /** Writable layer and log of each running container, by its name. */
  readonly containers: ReadonlyMap<string, number>
  /** Each measured volume by its name, those in memory too. */
  readonly volumes: ReadonlyMap<string, number>
}

/** Asks the runtime for the statistics of all containers. */
export async function statsById({ runtime }: KubeletContext): Promise<StatsById> {
  return new Map((await runtime.containers.listContainerStats()).map((one) => [one.attributes?.id, one]))
}

/** Returns the storage of one container; the size of its log is read from the file system. */
export async function containerStorage(
  { runtime, config }: KubeletContext,
  run: RuntimeContainer,
  stats: StatsById | Promise<StatsById>,
): Promise<ContainerStorage> {
  const message = terminationFile(config, run.pod.uid, run.name, run.notes.restartCount)
  const [logBytes, messageBytes = 0, byId] = await Promise.all([
    run.logPath === "" ? undefined : runtime.files.size(run.logPath),
    run.notes.messagePath === "" ? undefined : runtime.files.size(message),
    stats,
  ])
  return { run, writableLayer: byId.get(run.id)?.writableLayer, logBytes, messageBytes }
}

export const writableBytes = ({ writableLayer }: Pick<ContainerStorage, "writableLayer">): number =>
  writableLayer?.usedBytes?.value ?? 0

/**
 * Adds up what a pod's running containers and measured volumes take. Source: pkg/kubelet/stats/helper.go
 * calcEphemeralStorage. `hostsBytes` is the size of its /etc/hosts.
 */
export function localUsage(
  containers: readonly ContainerStorage[],
  volumes: readonly VolumeUsage[],
  hostsBytes = 0,
): LocalUsage {
  const byContainer = new Map(
    containers.map((one) => [one.run.name, writableBytes(one) + (one.logBytes ?? 0) + (one.messageBytes ?? 0)]),
  )
  const onDisk = volumes.filter(({ volume }) => isOnDisk(volume)).map(({ measured }) => measured)
  const inodes = containers.map(({ writableLayer }) => writableLayer?.inodesUsed?.value ?? 0)
  return {
    total: [...byContainer.values(), ...onDisk.map(({ usedBytes }) => usedBytes)].reduce(add, hostsBytes),
    inodes: [...inodes, ...onDisk.map(({ inodesUsed }) => inodesUsed)].reduce(add, 0),
    layersMeasuredAt: smallest(
      containers.map(({ writableLayer }) =>
        writableLayer === undefined ? Infinity : writableLayer.timestamp / NS_IN_MS,
      ),
    ),
    containers: byContainer,
    volumes: new Map(volumes.map(({ volume, measured }) => [volume.name, measured.usedBytes])),
  }
}

const NS_IN_MS = 1_000_000

const add = (a: number, b: number): number => a + b

/** Returns what a pod on this node takes. `stats` and `volumes` are the measurements of its parts. */
export async function podStorage(
  context: KubeletContext,
  cache: Pick<RuntimeCache, "get">,
  pod: Pod,
  stats: StatsById,
  volumes: readonly VolumeUsage[],
): Promise<LocalUsage> {
  const uid = pod.metadata.uid!
  const running = (cache.get(uid)?.containers ?? []).filter(({ state }) => state === "running")
  const containers = await Promise.all(running.map((run) => containerStorage(context, run, stats)))
  return localUsage(containers, volumes, await context.runtime.files.size(etcHosts(context.config, uid)))
}
