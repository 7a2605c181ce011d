import type { LoadedReplay } from "./loaded-replay.ts"
import { RecordedImages } from "./recorded-images.ts"
import { Replay } from "./replay.ts"
import { ReplayStore } from "./replay-store.ts"
import type { ReplayMaker } from "./running-replay.ts"

/** Returns what makes the parts of a cluster that plays a recording. */
export function replayMaker(loaded: LoadedReplay): ReplayMaker {
  const { snapshot, identities, reported, learnt, nodes } = loaded
  return {
    snapshot,
    playing(options, thrown) {
      const storage = new ReplayStore(options, snapshot.beginning, identities)
      return { storage, replay: new Replay(loaded, { clock: options.clock, storage, thrown }) }
    },
    images: ({ own, clock, failed }) => new RecordedImages({ reported, learnt, own, now: () => clock.now(), failed }),
    nodeOf: ({ metadata: { namespace = "", name = "" } }) => nodes.get(`${namespace}/${name}`),
  }
}
