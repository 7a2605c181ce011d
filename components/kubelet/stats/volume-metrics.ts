import type { MetricFamily } from "../../../pkg/metrics/exposition.ts"
import type { VolumeUsage } from "./volume-usage.ts"

type Measured = VolumeUsage["measured"]

/** Source: pkg/kubelet/metrics/collectors/volume_stats.go. */
const FIGURES: readonly (readonly [name: string, help: string, of: (measured: Measured) => number])[] = [
  ["capacity_bytes", "Capacity in bytes of the volume", ({ space }) => space.capacityBytes],
  ["available_bytes", "Number of available bytes in the volume", ({ space }) => space.availableBytes],
  ["used_bytes", "Number of used bytes in the volume", ({ usedBytes }) => usedBytes],
  ["inodes", "Maximum number of inodes in the volume", ({ space }) => space.inodes],
  ["inodes_free", "Number of free inodes in the volume", ({ space }) => space.inodesFree],
  ["inodes_used", "Number of used inodes in the volume", ({ inodesUsed }) => inodesUsed],
]

/** A pod's namespace with the usages of its volumes. */
export interface PodVolumes {
  readonly namespace: string
  /** The pod's name, which begins those of the claims of its ephemeral volumes. */
  readonly pod: string
  readonly usages: readonly VolumeUsage[]
}

/** Returns how full the volumes of claims are, each once however many pods use it. */
export function volumeMetrics(pods: readonly PodVolumes[]): readonly MetricFamily[] {
  const byClaim = new Map(
    pods.flatMap(({ namespace, pod, usages }) =>
      usages.flatMap(({ volume, measured }) => {
        const claim =
          volume.persistentVolumeClaim?.claimName ??
          (volume.ephemeral === undefined ? undefined : `${pod}-${volume.name}`)
        return claim === undefined ? [] : [[`${namespace}/${claim}`, { namespace, claim, measured }] as const]
      }),
    ),
  )
  return FIGURES.map(([name, help, of]) => ({
    name: `kubelet_volume_stats_${name}`,
    kind: "gauge",
    help,
    series: [...byClaim.values()].map(({ namespace, claim, measured }) => ({
      labels: { namespace, persistentvolumeclaim: claim },
      value: of(measured),
    })),
  }))
}
