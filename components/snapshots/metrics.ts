import type { Registry } from "../../pkg/metrics/registry.ts"

/** From a small cluster in a folder to a large one that is copied to S3, in seconds. */
const SECONDS = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900]

/** Registers the metrics of scheduled snapshots. */
export function snapshotMetrics(registry: Registry) {
  const saves = registry.counter("k3ts_snapshot_saves_total", "Scheduled snapshots, by outcome.", "outcome")
  const seconds = registry.histogram(
    "k3ts_snapshot_save_duration_seconds",
    "How long a scheduled snapshot took to be saved, and copied where that is asked for.",
    SECONDS,
  )
  const last = registry.gauge(
    "k3ts_snapshot_last_success_timestamp_seconds",
    "When the last scheduled snapshot was saved, in seconds since 1970.",
  )
  const size = registry.gauge("k3ts_snapshot_size_bytes", "Size of the last scheduled snapshot.")
  return {
    /** @param newest the time of a snapshot that is there at the start, in seconds since 1970 */
    foundNewest: (newest: number) => last.with().set(newest),
    saved(snapshot: { readonly at: number; readonly bytes: number; readonly seconds: number }) {
      saves.with("success").inc()
      seconds.with().observe(snapshot.seconds)
      last.with().set(snapshot.at / 1000)
      size.with().set(snapshot.bytes)
    },
    failed: () => saves.with("failure").inc(),
  }
}
