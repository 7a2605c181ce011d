import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Volume } from "../../../pkg/api/core/v1/volume/volume.ts"
import type { KubeletContext } from "../context.ts"
import type { FilesystemSpace } from "../runtime/runtime.ts"
import type { MountedVolume } from "../model/mounted-volume.ts"
import type { VolumeManager } from "../volumes/volume-manager.ts"

/** The usage of a volume of a pod. */
export interface VolumeUsage {
  readonly volume: Volume
  readonly measured: Measurement
}

interface Measurement {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The file system that contains the volume. */
  readonly space: FilesystemSpace
  readonly usedBytes: number
  readonly inodesUsed: number
}

/**
 * Whether a volume takes space on the node's disk and is deleted with the pod. Volumes with content from the API are
 * kept in memory.
 */
export const isOnDisk = ({ emptyDir, gitRepo }: Volume): boolean =>
  (emptyDir !== undefined && emptyDir.medium !== "Memory") || gitRepo !== undefined

/**
 * How long a measurement is reused, since counting the files of a large volume takes long. Source:
 * --volume-stats-agg-period.
 */
const FRESH_MS = 60_000
/** How long a measurement is kept without a caller: it is returned while a newer one takes too long. */
const KEPT_MS = 600_000
/**
 * The longest time a caller waits for a measurement. A file server may not respond; the result then lacks the volume
 * until it has been measured.
 */
const PATIENCE_MS = 1000

/**
 * Measures volumes when a caller asks. Volumes that do not belong to the pod (paths of the node, images) are not
 * measured, as upstream. Source: pkg/kubelet/server/stats/volume_stat_calculator.go, pkg/volume/metrics_du.go and
 * metrics_statfs.go.
 */
export class VolumeUsages {
  readonly #context: KubeletContext
  readonly #volumes: Pick<VolumeManager, "mounted">
  /** By the path on the node; measurements that nobody asks for are dropped after KEPT_MS. */
  readonly #known = new Map<string, { latest?: Measurement; pending?: Promise<void> | undefined }>()

  constructor(context: KubeletContext, volumes: Pick<VolumeManager, "mounted">) {
    this.#context = context
    this.#volumes = volumes
  }

  /** Returns the usages of the pods' volumes by the uid of the pod. */
  async measure(pods: readonly Pod[]): Promise<ReadonlyMap<string, readonly VolumeUsage[]>> {
    const places = new Set<string>()
    const asked = pods.flatMap((pod) => {
      const uid = pod.metadata.uid!
      return this.#volumes.mounted(uid).flatMap((mounted) => {
        const volume = pod.spec.volumes?.find(({ name }) => name === mounted.name)
        if (volume === undefined || mounted.measured === undefined) return []
        const known = this.#known.get(mounted.hostPath) ?? {}
        this.#known.set(mounted.hostPath, known)
        places.add(mounted.hostPath)
        if (known.pending === undefined && !this.#isFresh(known.latest)) this.#begin(mounted, known)
        return [{ uid, volume, known }]
      })
    })
    for (const [place, { latest, pending }] of this.#known)
      if (!places.has(place) && pending === undefined && this.#ageOf(latest) > KEPT_MS) this.#known.delete(place)
    await this.#patiently(Promise.all(asked.flatMap(({ known: { pending } }) => pending ?? [])))
    const byPod = new Map<string, VolumeUsage[]>()
    for (const {
      uid,
      volume,
      known: { latest },
    } of asked) {
      if (latest === undefined) continue
      const usages = byPod.get(uid) ?? []
      usages.push({ volume, measured: latest })
      byPod.set(uid, usages)
    }
    return byPod
  }

  #isFresh(latest: Measurement | undefined): boolean {
    return this.#ageOf(latest) < FRESH_MS
  }

  #ageOf(latest: Measurement | undefined): number {
    return latest === undefined ? Infinity : this.#context.clock.now() - latest.at
  }

  #begin(mounted: MountedVolume, known: { latest?: Measurement; pending?: Promise<void> | undefined }): void {
    known.pending = this.#look(mounted)
      .then(
        (measured) => {
          if (measured !== undefined) known.latest = measured
        },
        (err: unknown) => this.#context.log.debug("Failed to measure a volume", { volume: mounted.name, err }),
      )
      .finally(() => {
        known.pending = undefined
      })
  }

  async #look({ hostPath, measured }: MountedVolume): Promise<Measurement | undefined> {
    const { runtime, clock } = this.#context
    const [space, files] = await Promise.all([
      runtime.machine.space(hostPath),
      measured === "files" ? runtime.volumes.usage(hostPath) : undefined,
    ])
    const at = clock.now()
    if (measured === "filesystem")
      return { at, space, usedBytes: space.usedBytes, inodesUsed: space.inodes - space.inodesFree }
    return files === undefined ? undefined : { at, space, usedBytes: files.bytes, inodesUsed: files.inodes }
  }

  #patiently(work: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#context.clock.setTimeout(resolve, PATIENCE_MS)
      void work.then(() => {
        timer.cancel()
        resolve()
      })
    })
  }
}
