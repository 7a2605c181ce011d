import { sleep } from "../../../../pkg/clock/clock.ts"
import type { ClusterParts } from "../cluster-parts.ts"
import { replay } from "../options/seed.ts"
import { eventually, type Waiting } from "./eventually.ts"
import type { TestClient } from "./test-client.ts"
import type { Acting } from "./verbs.ts"

/** Returns what kubectl's verbs act with on a cluster. */
export const actingOn = (
  { clock, virtual, driver, seed }: ClusterParts,
  client: TestClient,
  waiting: Waiting,
): Acting => ({
  client,
  clock,
  replay: replay(seed),
  async pause(ms) {
    if (virtual === undefined) await sleep(clock, ms)
    else await driver.move((moved) => moved.advance(ms))
  },
  settle: () => driver.move((moved) => moved.settle()),
  eventually: (check, options) => eventually(check, waiting, options),
  ended: (what, waited) => driver.ended(what, waited),
})
