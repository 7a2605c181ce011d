import { afterAll, beforeAll, describe } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import recorded from "./create.recorded.json"
import { steps, type Step } from "./steps.fixtures.ts"

let c: Cluster
beforeAll(async () => {
  c = await startCluster({ nodes: 1 })
})
afterAll(() => c.stop())

const FILES = {
  "data/a.txt": "hi\n",
  "data/a.env": "# c\nA=1\n  B=2 \nFOO\n\nC=a=b\nE=\n",
  "data/bad.env": "1A B=x\n",
}

/** Command lines, one after another, with what kubectl 1.36.2 says and the code it ends with. */
const ROWS = recorded as unknown as readonly Step[]

describe("kubectl create, for each kind of object", () => {
  steps("answers every command line as kubectl does", () => c, ROWS, FILES)
})
