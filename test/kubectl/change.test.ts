import { afterAll, beforeAll, describe } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import { steps as stepsIn, type Step } from "./steps.fixtures.ts"

const WEB = JSON.stringify({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", labels: { app: "web" } },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "web" }] } },
  },
})
let c: Cluster
beforeAll(async () => {
  c = await startCluster({ nodes: 1 })
  await c.kubectl("create -f -", { stdin: WEB })
  await c.kubectl("create -f -", {
    stdin: JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { k: "v" } }),
  })
})
afterAll(() => c.stop())

const FILES = { "web.json": WEB, "patch.yaml": "spec: {replicas: 3}" }
const steps = (title: string, rows: readonly Step[]) => stepsIn(title, () => c, rows, FILES)

describe("kubectl patch", () => {
  steps("says whether anything changed, for every type of patch", [
    [`patch deploy web -p '{"spec":{"replicas":4}}'`, "deployment.apps/web patched\n"],
    [`patch deploy web -p '{"spec":{"replicas":4}}'`, "deployment.apps/web patched (no change)\n"],
    [
      `patch deploy web --type=json -p '[{"op":"replace","path":"/spec/replicas","value":5}]'`,
      "deployment.apps/web patched\n",
    ],
    ["patch deploy web --type=merge --patch-file patch.yaml -o name", "deployment.apps/web\n"],
    [
      `patch deploy web --subresource=scale --type=merge -p '{"spec":{"replicas":2}}'`,
      "scale.autoscaling/web patched\n",
    ],
    [`patch -f web.json --local -p '{"metadata":{"labels":{"x":"y"}}}'`, "deployment.apps/web patched\n"],
  ])
  steps("refuses what is no patch", [
    ["patch deploy web --type=foo -p '{}'", 'error: --type must be one of [json merge strategic], not "foo"\n', 1],
    ["patch deploy web", "error: must specify --patch or --patch-file containing the contents of the patch\n", 1],
    [
      "patch deploy web -p '{bad'",
      "Error from server (BadRequest): invalid character 'b' looking for beginning of object key string\n",
      1,
    ],
  ])
})

describe("kubectl label", () => {
  steps("sets, keeps, replaces and removes labels", [
    ["label deploy web a=b", "deployment.apps/web labeled\n"],
    ["label deploy web a=c", "error: 'a' already has a value (b), and --overwrite is false\n", 1],
    ["label deploy web a=c --overwrite", "deployment.apps/web labeled\n"],
    ["label deploy web a=c", "deployment.apps/web not labeled\n"],
    ["label deploy web a- d=e nope-", 'label "nope" not found.\ndeployment.apps/web modified\n'],
    ["label deploy web d-", "deployment.apps/web unlabeled\n"],
    ["label deploy web --list", "app=web\n"],
    ["label deploy web z=1 --dry-run=server", "deployment.apps/web labeled (server dry run)\n"],
    ["label deploy web z=1 --resource-version=1 -o name", /\(Conflict\)/, 1],
  ])
  steps("refuses labels that cannot be", [
    ["label deploy web", "error: at least one label update is required\n", 1],
    ["label deploy web a=b=c", "error: invalid label spec: a=b=c\n", 1],
    ["label a=b deploy", "error: all resources must be specified before label changes: deploy\n", 1],
    ["label deploy web a=b a-", "error: can not both modify and remove a label in the same command\n", 1],
  ])
})

describe("kubectl annotate", () => {
  steps("sets, keeps, replaces and removes annotations", [
    ["annotate cm a d='my text'", "configmap/a annotated\n"],
    [
      "annotate cm a d=other",
      "error: --overwrite is false but found the following declared annotation(s): 'd' already has a value (my text)\n",
      1,
    ],
    ["annotate cm a d=other --overwrite", "configmap/a annotated\n"],
    ["annotate cm a --list", "d=other\n"],
    ["annotate cm a d- e-", "configmap/a annotated\n"],
    ["annotate cm a --list", ""],
  ])
})

describe("kubectl scale", () => {
  steps("changes the size, under conditions, and waits for it", [
    ["scale deploy web --replicas=3", "deployment.apps/web scaled\n"],
    ["scale deploy web --replicas=1 --current-replicas=9", "error: Expected replicas to be 9, was 3\n", 1],
    ["scale deploy web --replicas=1 --current-replicas=3 --timeout=1m", "deployment.apps/web scaled\n"],
    ["get deploy web -o name --ignore-not-found", "deployment.apps/web\n"],
    ["scale deploy web --replicas=4 --dry-run=client", "deployment.apps/web scaled (dry run)\n"],
    ["scale deploy web", 'error: required flag(s) "replicas" not set\n', 1],
  ])
})

describe("kubectl replace", () => {
  steps("replaces what is there, also by deleting it first", [
    ["replace -f web.json", "deployment.apps/web replaced\n"],
    [
      "replace --force -f web.json",
      'deployment.apps "web" deleted from default namespace\ndeployment.apps/web replaced\n',
    ],
    ["replace -f web.json --save-config --dry-run=client", "deployment.apps/web replaced (dry run)\n"],
    ["replace -f web.json --grace-period=2", "error: --grace-period must have --force specified\n", 1],
    ["replace", "error: must specify one of -f and -k\n", 1],
  ])
})
