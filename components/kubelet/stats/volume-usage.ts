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

/** The longest time for which a measurement is reused. Source: --volume-stats-agg-period. */
const FRESH_MS = 60_000
/** How long a measurement is kept without a caller: it is returned while a newer one takes too long. */
const KEPT_MS = 600_000

/** How new the measurements are that a caller gets. */
export interface MeasureTerms {
  /** Returns for how long a measurement is reused, in milliseconds, from how long it took. */
  readonly freshMs: (tookMs: number) => number
  /**
   * The longest time the caller waits for a newer measurement. A file server may not respond; the result then has the
   * last one, and lacks the volume until it has been measured.
   */
  readonly waitMs: number
}
/** Counting the files of a large volume takes long, and who asks may ask often. */
const FOR_METRICS: MeasureTerms = { freshMs: () => FRESH_MS, waitMs: 1000 }
/**
 * A volume grows beyond its limit until it is measured, so it is measured as often as that takes a fiftieth of the
 * time. Differs from upstream, which looks at measurements of the last minute.
 */
export const FOR_LIMITS: MeasureTerms = { freshMs: (tookMs) => Math.min(FRESH_MS, 50 * tookMs), waitMs: 1000 }
/** The pod that fills the disk must be found, or others are evicted for it. */
export const FOR_EVICTION: MeasureTerms = { freshMs: () => 0, waitMs: 10_000 }

/** What is known of the usage of one volume. */
interface Known {
  latest?: Measurement
  tookMs?: number
  pending?: Promise<void> | undefined
}

/**
 * Measures volumes when a caller asks. Volumes that do not belong to the pod (paths of the node, images) are not
 * measured, as upstream. Source: pkg/kubelet/server/stats/volume_stat_calculator.go, pkg/volume/metrics_du.go and
 * metrics_statfs.go.
 */
export class VolumeUsages {
  readonly #context: KubeletContext
  readonly #volumes: Pick<VolumeManager, "mounted">
  /** By the path on the node; measurements that nobody asks for are dropped after KEPT_MS. */
  readonly #known = new Map<string, Known>()

  constructor(context: KubeletContext, volumes: Pick<VolumeManager, "mounted">) {
    this.#context = context
    this.#volumes = volumes
  }

  /** Returns the usages of the pods' volumes by the uid of the pod. */
  async measure(
    pods: readonly Pod[],
    { freshMs, waitMs }: MeasureTerms = FOR_METRICS,
  ): Promise<ReadonlyMap<string, readonly VolumeUsage[]>> {
    const places = new Set<string>()
    const asked = pods.flatMap((pod) => {
      const uid = pod.metadata.uid!
      return this.#volumes.mounted(uid).flatMap((mounted) => {
        const volume = pod.spec.volumes?.find(({ name }) => name === mounted.name)
        if (volume === undefined || mounted.measured === undefined) return []
        const known = this.#known.get(mounted.hostPath) ?? {}
        this.#known.set(mounted.hostPath, known)
        places.add(mounted.hostPath)
        const { latest, tookMs = 0, pending } = known
        if (pending === undefined && this.#ageOf(latest) >= freshMs(tookMs)) this.#begin(mounted, known)
        return [{ uid, volume, known }]
      })
    })
    for (const [place, { latest, pending }] of this.#known)
      if (!places.has(place) && pending === undefined && this.#ageOf(latest) > KEPT_MS) this.#known.delete(place)
    const pending = asked.flatMap(({ known }) => known.pending ?? [])
    await this.#patiently(Promise.all(pending), waitMs)
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

  #ageOf(latest: Measurement | undefined): number {
    return latest === undefined ? Infinity : this.#context.clock.now() - latest.at
  }

  #begin(mounted: MountedVolume, known: Known): void {
    const began = this.#context.clock.monotonic()
    known.pending = this.#check(mounted)
      .then(
        (measured) => {
          if (measured !== undefined) known.latest = measured
        },
        (err: unknown) => this.#context.log.debug("Failed to measure a volume", { volume: mounted.name, err }),
      )
      .finally(() => {
        known.tookMs = this.#context.clock.monotonic() - began
        known.pending = undefined
      })
  }

  async #check({ hostPath, measured }: MountedVolume): Promise<Measurement | undefined> {
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

  #patiently(work: Promise<unknown>, waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#context.clock.setTimeout(resolve, waitMs)
      void work.then(() => {
        timer.cancel()
        resolve()
      })
    })
  }
}
