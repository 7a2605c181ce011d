import { afterAll, beforeAll, describe } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import recorded from "./debug.recorded.json"
import { steps, type Step } from "./steps.fixtures.ts"

const SLEEP = { image: "busybox", command: ["sleep", "9999"] }
const PODS = [
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", labels: { app: "web" }, annotations: { a: "b" } },
    spec: {
      initContainers: [{ name: "init", image: "busybox", command: ["true"] }],
      containers: [
        {
          ...SLEEP,
          name: "main",
          livenessProbe: { exec: { command: ["true"] } },
          securityContext: { runAsUser: 5 },
        },
        { ...SLEEP, name: "side" },
      ],
    },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "user" },
    spec: { securityContext: { runAsUser: 1000 }, containers: [{ ...SLEEP, name: "main" }] },
  },
]

let c: Cluster
beforeAll(async () => {
  c = await startCluster({ nodes: 1 })
  await c.kubectl("create -f -", { stdin: PODS.map((pod) => JSON.stringify(pod)).join("\n---\n") })
})
afterAll(() => c.stop())

const FILES = {
  "custom.yaml": "env: [{name: A, value: b}]\nsecurityContext: {capabilities: {add: [SYS_TIME]}}\n",
  "bad.json": '{"name":"x"}',
}

/** Command lines, one after another, with what kubectl 1.36.2 says and the code it ends with. */
const ROWS = recorded as unknown as readonly Step[]

describe("kubectl debug, of pods and nodes, with each profile", () => {
  steps("makes the same containers and pods as kubectl, and refuses the same", () => c, ROWS, FILES)
})
