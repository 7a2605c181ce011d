import { afterAll, beforeAll, describe } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import recorded from "./autoscale.recorded.json"
import { steps, type Step } from "./steps.fixtures.ts"

let c: Cluster
beforeAll(async () => {
  c = await startCluster({ nodes: 1 })
})
afterAll(() => c.stop())

/** Command lines, one after another, with what kubectl 1.36.2 says and the code it ends with. */
const ROWS = recorded as unknown as readonly Step[]

describe("kubectl autoscale", () => {
  steps("answers every command line as kubectl does", () => c, ROWS)
})
