import { afterAll, beforeAll, describe } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import recorded from "./set.recorded.json"
import gone from "./gone-versions.recorded.json"
import listed from "./set-env.recorded.json"
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

const ENVIRONMENT = {
  "env.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: env, labels: {l: "1", m: "q\\"x"}, annotations: {An/no: "7"}}
spec:
  selector: {matchLabels: {app: env}}
  template:
    metadata: {labels: {app: env}}
    spec:
      initContainers:
      - name: i
        image: x
        env: [{name: A, valueFrom: {configMapKeyRef: {name: vars, key: k}}}]
      containers:
      - name: c
        image: x
        resources: {limits: {cpu: 1500m, memory: 64Mi}, requests: {hugepages-2Mi: 4Mi}}
        env:
        - {name: PLAIN, value: x}
        - {name: CM, valueFrom: {configMapKeyRef: {name: vars, key: k}}}
        - {name: CM2, valueFrom: {configMapKeyRef: {name: vars, key: none}}}
        - {name: CM3, valueFrom: {configMapKeyRef: {name: nocm, key: none}}}
        - {name: CM4, valueFrom: {configMapKeyRef: {name: nocm, key: none2}}}
        - {name: SE, valueFrom: {secretKeyRef: {name: se, key: k}}}
        - {name: F, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: F2, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}
        - {name: F3, valueFrom: {fieldRef: {fieldPath: "metadata.labels['l']"}}}
        - {name: F4, valueFrom: {fieldRef: {fieldPath: "status.podIP"}}}
        - {name: F5, valueFrom: {fieldRef: {fieldPath: "metadata.namespace"}}}
        - {name: R1, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
        - {name: R2, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}
        - {name: R3, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
        - {name: R4, valueFrom: {resourceFieldRef: {resource: requests.cpu}}}
        - {name: R5, valueFrom: {resourceFieldRef: {resource: requests.memory, containerName: c}}}
`,
}

/** Command lines, one after another, with what kubectl 1.36.2 says and the code it ends with. */
const ROWS = recorded as unknown as readonly Step[]
const ENV_ROWS = listed as unknown as readonly Step[]

describe("kubectl set", () => {
  steps("answers every command line as kubectl does", () => c, ROWS, FILES)
  steps("prints the values that variables refer to", () => c, ENV_ROWS, ENVIRONMENT)
  steps(
    "--local changes objects of versions that no server serves any more",
    () => c,
    gone.steps as unknown as readonly Step[],
    gone.files,
  )
})
