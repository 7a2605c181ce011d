import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Deployment, startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"

const WEB = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: web}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {x: "1"}}
data: {k: <v>}
`

/** Words and layout are those of upstream's kubectl 1.36.2. */
describe("kubectl get", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster({ nodes: 1 })
    await cluster.apply(WEB)
    await cluster.advance("10m")
  })
  afterAll(() => cluster.stop())

  test.each<{ line: string; stdout: string; stderr?: string; code?: number }>([
    { line: "get cm a", stdout: "NAME   DATA   AGE\na      1      10m\n" },
    { line: "get cm a --no-headers", stdout: "a     1     10m\n" },
    { line: "get cm a --show-labels", stdout: "NAME   DATA   AGE   LABELS\na      1      10m   x=1\n" },
    { line: "get cm a -L x,y", stdout: "NAME   DATA   AGE   X     Y\na      1      10m   1     \n" },
    {
      line: "get cm a -A",
      stdout: "",
      stderr: "error: a resource cannot be retrieved by name across all namespaces\n",
      code: 1,
    },
    { line: "get deploy,cm -l x=1", stdout: "NAME          DATA   AGE\nconfigmap/a   1      10m\n" },
    {
      line: "get deploy/web cm/a",
      stdout:
        "NAME                  READY   UP-TO-DATE   AVAILABLE   AGE\ndeployment.apps/web   2/2     2            2           10m\n\nNAME          DATA   AGE\nconfigmap/a   1      10m\n",
    },
    {
      line: "get deploy web --subresource scale",
      stdout: "NAME   DESIRED   AVAILABLE   AGE\nweb    2         2           10m\n",
    },
    { line: "get cm -l x=1 -o name", stdout: "configmap/a\n" },
    { line: "get cm a -o jsonpath={.data.k}", stdout: "<v>" },
    { line: "get cm -l nosuch", stdout: "", stderr: "No resources found in default namespace.\n" },
    { line: "get cm -l nosuch -A", stdout: "", stderr: "No resources found\n" },
    {
      line: "get cm a b",
      stdout: "NAME   DATA   AGE\na      1      10m\n",
      stderr: 'Error from server (NotFound): configmaps "b" not found\n',
      code: 1,
    },
    { line: "get cm b --ignore-not-found", stdout: "" },
    { line: "get widgets", stdout: "", stderr: `error: the server doesn't have a resource type "widgets"\n`, code: 1 },
    {
      line: "get cm -o foo",
      stdout: "",
      stderr:
        'error: unable to match a printer suitable for the output format "foo", allowed formats are: custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,kyaml,name,template,templatefile,wide,yaml\n',
      code: 1,
    },
    {
      line: "get --foo",
      stdout: "",
      stderr: "error: unknown flag: --foo\nSee 'kubectl get --help' for usage.\n",
      code: 1,
    },
    {
      line: "get cm/a b",
      stdout: "",
      stderr:
        "error: there is no need to specify a resource type as a separate argument when passing arguments in resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'\n",
      code: 1,
    },
    {
      line: "versin",
      stdout: "",
      stderr: 'error: unknown command "versin" for "kubectl"\n\nDid you mean this?\n\tversion\n',
      code: 1,
    },
  ])("$line", async ({ line, stdout, stderr = "", code = 0 }) => {
    const result = await cluster.kubectl(line)
    expect([result.stdout, result.stderr, result.code]).toEqual([stdout, stderr, code])
  })

  test("prints an object as JSON with sorted keys and signs of HTML escaped, without managedFields", async () => {
    const { stdout } = await cluster.kubectl("get cm a -o json")
    expect(stdout).toStartWith('{\n    "apiVersion": "v1",\n    "data": {\n        "k": "\\u003cv\\u003e"\n    },\n')
    expect(stdout).not.toContain("managedFields")
  })

  test("watches: objects first, then each change", async () => {
    // given a watch
    const end = new AbortController()
    const watching = cluster.kubectl("get deploy -w --output-watch-events", { signal: end.signal })
    await cluster.advance("1s")
    // when the deployment changes
    await cluster.client.patch(Deployment, "web", { type: "merge", body: { metadata: { annotations: { a: "b" } } } })
    await cluster.advance("1s")
    end.abort()
    // then
    expect((await watching).stdout.split("\n").slice(0, 3)).toEqual([
      "EVENT      NAME   READY   UP-TO-DATE   AVAILABLE   AGE",
      "ADDED      web    2/2     2            2           10m",
      "MODIFIED   web    2/2     2            2           10m",
    ])
  })
})
