import type { LoadedOptions } from "../cluster-parts.ts"
import type { ClusterSnapshot } from "../snapshot.ts"
import type { ClusterOptions } from "./options.ts"

/**
 * Reads what options name: a recording, a snapshot unless `begin` is one that was read, the settings and plugins of the
 * scheduler. What reads them is loaded only then.
 */
export async function loadedFrom(options: ClusterOptions, begin?: ClusterSnapshot): Promise<LoadedOptions> {
  const { snapshot, schedulerConfig, schedulerPlugins, schedulerExtenders } = options
  const replay =
    options.replay === undefined
      ? undefined
      : await (await import("../replay/replay-option.ts")).replayFrom(options, options.replay)
  return {
    replay,
    snapshot:
      begin ??
      replay?.snapshot ??
      (snapshot === undefined ? undefined : await (await import("../snapshot.ts")).readSnapshot(snapshot)),
    scheduling:
      (schedulerConfig ?? schedulerPlugins ?? schedulerExtenders) === undefined
        ? undefined
        : (await import("./scheduling.ts")).schedulingFrom(options),
  }
}
