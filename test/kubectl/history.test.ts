import { afterAll, beforeAll, expect, test } from "bun:test"
import { ConfigMap, Deployment, Secret, startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import { steps } from "./steps.fixtures.ts"

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster({ nodes: 1, seed: 1 })
})
afterAll(() => cluster.stop())

const history = async (command: string) => {
  const { code, stdout, stderr } = await cluster.kubectl(`history ${command}`)
  return code === 0 ? stdout : `${code} ${stderr}`
}

test("history shows who changed which fields of an object, when, and by which client", async () => {
  // given a ConfigMap that the administrator makes, changes and deletes
  await cluster.kubectl("create configmap settings --from-literal color=red")
  await cluster.advance("1m")
  await cluster.kubectl(["patch", "configmap", "settings", "-p", '{"data":{"color":"blue","size":"9"}}'])
  await cluster.kubectl("delete configmap settings")
  // when its history is asked for
  const text = await history("configmap/settings")
  // then each write is there
  expect(text.replaceAll(/^\d+/gm, "REV")).toBe(
    [
      "REV  2026-01-01T00:00:00Z  system:admin (kubectl-create)  create ConfigMap default/settings",
      "REV  2026-01-01T00:01:00Z  system:admin (kubectl-patch)  update ConfigMap default/settings",
      '    data.color: "red" → "blue"',
      '    data.size: nothing → "9"',
      "REV  2026-01-01T00:01:00Z  system:admin  delete ConfigMap default/settings",
      "",
    ].join("\n"),
  )
})

test("history of a user has the writes of this user alone", async () => {
  const { stdout } = await cluster.kubectl("create role writer --verb * --resource configmaps")
  expect(stdout).toContain("created")
  await cluster.kubectl("create rolebinding alice --role writer --user alice")
  await cluster.kubectl("create configmap mine --from-literal a=b --as alice")
  const text = await history("-A --user alice")
  expect(text.trim().split("\n")).toEqual([
    expect.stringMatching(/alice \(kubectl-create\) {2}create ConfigMap default\/mine$/),
  ])
})

test("what the history of all kinds has is what one may list", async () => {
  // given somebody who may read ConfigMaps of one namespace, and the history of all kinds
  await cluster.client.create(Secret, { metadata: { name: "hidden" }, stringData: { password: "x" } })
  await cluster.kubectl("create role reader --verb list --resource configmaps")
  await cluster.kubectl("create rolebinding bob --role reader --user bob")
  await cluster.kubectl("create clusterrole history --verb get --non-resource-url /k3ts/history")
  await cluster.kubectl("create clusterrolebinding bob --clusterrole history --user bob")
  // when bob asks
  const { stdout } = await cluster.kubectl("history -A --as bob -o json")
  // then there is nothing else
  const kinds = (JSON.parse(stdout) as { entries: { kind: string; namespace: string }[] }).entries
  expect(new Set(kinds.map(({ kind, namespace }) => `${namespace} ${kind}`))).toEqual(new Set(["default ConfigMap"]))
})

test("values of Secrets are masked in the fields of a history", async () => {
  await cluster.client.patch(Secret, "hidden", { type: "merge", body: { stringData: { password: "y" } } })
  expect(await history("secret hidden")).toContain('data.password: "***" → "***"')
})

test("a limit shows the newest writes", async () => {
  await cluster.apply(`
    { apiVersion: apps/v1, kind: Deployment, metadata: { name: web, namespace: default },
      spec: { replicas: 1, selector: { matchLabels: { app: web } },
        template: { metadata: { labels: { app: web } }, spec: { containers: [{ name: web, image: nginx }] } } } }`)
  await cluster.scale(Deployment, "web", 2)
  await cluster.scale(Deployment, "web", 3)
  const ran = await cluster.kubectl("history deployments --limit 1")
  expect(ran.stdout.match(/Deployment default\/web/g)).toHaveLength(1)
  expect(ran.stderr).toContain("There are older ones")
})

steps("a history needs the right to read the objects", () => cluster, [
  ["history configmap/settings --as nobody", /User "nobody" cannot get resource "configmaps"/, 1],
  ["history configmaps --as nobody", /User "nobody" cannot list resource "configmaps"/, 1],
  ["history -A --as nobody", /User "nobody" cannot get path "\/k3ts\/history"/, 1],
  ["history pods --since soon", /invalid point in time "soon": must be/, 1],
])

test("the history of what was made again has both objects", async () => {
  for (const size of ["1", "2"]) {
    await cluster.client.create(ConfigMap, { metadata: { name: "twice" }, data: { size } })
    await cluster.delete(ConfigMap, "twice")
  }
  expect((await history("configmap twice")).match(/ (create|delete) /g)).toEqual([
    " create ",
    " delete ",
    " create ",
    " delete ",
  ])
})

test("a client that writes twice in a second is named both times", async () => {
  await cluster.advance("5s")
  for (const size of ["1", "2"]) await cluster.kubectl(`annotate configmap mine size=${size} --overwrite`)
  expect((await history("configmap mine")).match(/\(kubectl-annotate\)/g)).toHaveLength(2)
})

test("diff shows what differs between two points, with values of Secrets masked", async () => {
  // given a ConfigMap and a Secret that are changed, one object that is created, and one that comes and goes
  await cluster.kubectl("create namespace compared")
  await cluster.kubectl("create configmap settings -n compared --from-literal color=red")
  await cluster.kubectl("create secret generic hidden -n compared --from-literal password=x")
  await cluster.advance("1m")
  await cluster.kubectl(["patch", "configmap", "settings", "-n", "compared", "-p", '{"data":{"color":"blue"}}'])
  await cluster.kubectl(["patch", "secret", "hidden", "-n", "compared", "-p", '{"stringData":{"password":"y"}}'])
  await cluster.kubectl("create configmap new -n compared")
  await cluster.kubectl("create configmap gone -n compared")
  await cluster.kubectl("delete configmap gone -n compared")
  // when two points are compared
  const { code, stdout } = await cluster.kubectl("changes --from 30s -n compared")
  // then the exit code is that of diff, and each object is there once
  expect([code, stdout]).toEqual([
    1,
    [
      "ConfigMap compared/settings changed, by system:admin",
      '    data.color: "red" → "blue"',
      "Secret compared/hidden changed, by system:admin",
      '    data.password: "***" → "***"',
      "ConfigMap compared/new created, by system:admin",
      "",
    ].join("\n"),
  ])
  expect((await cluster.kubectl("changes --from 0s -n compared")).code).toBe(0)
})
