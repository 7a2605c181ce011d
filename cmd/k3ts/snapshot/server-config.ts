import type { ClusterSnapshotsConfig } from "../../../components/cluster/snapshots.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { openS3 } from "../../../pkg/snapshot/open-s3.ts"
import { defaultNodeName } from "../config/host.ts"
import type { ServerFlags } from "../config/server-flags.ts"
import { folderOf, s3ConfigOf } from "./flags.ts"

/** Turns the flags of `k3ts server` into the configuration of its snapshots. @throws UsageError */
export function snapshotsConfig(flags: ServerFlags): ClusterSnapshotsConfig {
  const { "data-dir": dataDir, "snapshot-schedule-cron": cron } = flags
  const common = { dataDir, node: flags["node-name"] ?? defaultNodeName() }
  const s3 = s3ConfigOf(flags)
  if (flags["disable-snapshots"]) return common
  return {
    ...common,
    scheduled: {
      schedule: { cron: cron.schedule, zone: cron.zone },
      folder: folderOf(flags, dataDir),
      base: flags["snapshot-name"],
      retention: flags["snapshot-retention"],
      compression: flags["snapshot-compress"] ? "zstd" : "none",
      ...(s3 === undefined ? {} : { s3: { open: () => openS3(s3, realClock), retention: flags["s3-retention"] } }),
    },
  }
}
