import { afterAll, beforeAll, describe } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import recorded from "./set.recorded.json"
import { steps, type Step } from "./steps.fixtures.ts"

let c: Cluster
beforeAll(async () => {
  c = await startCluster({ nodes: 1 })
})
afterAll(() => c.stop())

const FILES = {
  "d.yaml":
    'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: f\nspec:\n  selector:\n    matchLabels: {a: b}\n  template:\n    metadata:\n      labels: {a: b}\n    spec:\n      initContainers:\n      - name: i\n        image: x\n      containers:\n      - name: c\n        image: x\n        env:\n        - name: E\n          value: ""\n        resources:\n          limits: {cpu: 1000m}\n',
  "rb.yaml":
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: rb\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}\nsubjects:\n- {kind: User, apiGroup: rbac.authorization.k8s.io, name: u}\n",
}

/** Command lines, one after another, with what kubectl 1.36.2 says and the code it ends with. */
const ROWS = recorded as unknown as readonly Step[]

describe("kubectl set", () => {
  steps("answers every command line as kubectl does", () => c, ROWS, FILES)
})
