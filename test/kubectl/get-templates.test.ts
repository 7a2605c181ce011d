import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"

const configMap = (name: string, data: object, labels: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "work", labels: { of: "test", ...labels } },
  data,
})

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster({ nodes: 0 })
  const items = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "work" } },
    configMap("c1", { 10: "x", 2: "y", a: "100m", b: "<&>" }, { size: "1Gi" }),
    configMap("c2", { a: "1" }, { size: "500Mi" }),
    configMap("c3", { a: "20m" }),
  ]
  await cluster.kubectl("create -f -", { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) })
})
afterAll(() => cluster.stop())

/** Recorded from kubectl 1.36. */
describe("kubectl get answers as upstream's", () => {
  test.each([
    { args: ["-o", "jsonpath={.items[0:3].metadata.name}"], stdout: "c1 c2 c3" },
    { args: ["c1", "-o", "jsonpath={.data}"], stdout: '{"10":"x","2":"y","a":"100m","b":"\\u003c\\u0026\\u003e"}' },
    { args: ["c1", "-o", "jsonpath={.missing}x"], stdout: "x" },
    { args: ["-o", 'jsonpath={range .items[?(@.data.a=="1")]}{.metadata.name}{"\\n"}{end}'], stdout: "c2\n" },
    { args: ["c2", "-o", "jsonpath-as-json={.data}"], stdout: '[\n    {\n        "a": "1"\n    }\n]\n' },
    { args: ["c1", "-o", "go-template={{.data}} {{len .data}}"], stdout: "map[10:x 2:y a:100m b:<&>] 4" },
    { args: ["c1", "--template={{.kind}}"], stdout: "ConfigMap" },
    {
      args: ["-o", "custom-columns=NAME:.metadata.name,A:.data.a,B:{.data.b}", "--sort-by=.data.a"],
      stdout: "NAME   A      B\nc3     20m    <none>\nc1     100m   <&>\nc2     1      <none>\n",
    },
    { args: ["-o", "name", "--sort-by=.metadata.labels.size"], stdout: "configmap/c3\nconfigmap/c2\nconfigmap/c1\n" },
    { args: ["--sort-by={.data.a}", "--no-headers"], stdout: "c3    1     0s\nc1    4     0s\nc2    1     0s\n" },
    { args: ["c1", "--sort-by=.missing", "-o", "name"], stdout: "configmap/c1\n" },
    { args: ["--sort-by=.missing"], stderr: "No resources found in work namespace.\n" },
    {
      args: ["-o", "name", "--sort-by=.missing"],
      code: 1,
      stderr: `error: couldn't find any field with path "{.missing}" in the list of objects\n`,
    },
    {
      args: ["-o", "jsonpath={.items["],
      code: 1,
      stderr: "error: error parsing jsonpath {.items[, unterminated array\n",
    },
    { args: ["-o", "jsonpath"], code: 1, stderr: "error: template format specified but no template given\n" },
    {
      args: ["c2", "-o", "go-template={{.data.a.b}}"],
      code: 1,
      stderr: `error: error executing template "{{.data.a.b}}": template: output:1:7: executing "output" at <.data.a.b>: can't evaluate field b in type interface {}\n`,
    },
  ])("get configmaps $args", async ({ args, stdout, stderr = "", code = 0 }) => {
    const selector = args[0]!.startsWith("-") ? ["-l", "of=test"] : []
    const answer = await cluster.kubectl(["get", "configmaps", "-n", "work", ...selector, ...args])
    expect({ stderr: answer.stderr, code: answer.code }).toEqual({ stderr, code })
    if (stdout !== undefined) expect(answer.stdout).toBe(stdout)
  })
})
