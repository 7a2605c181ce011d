import { afterAll, beforeAll, expect, test } from "bun:test"
import {
  ConfigMap,
  Deployment,
  EndpointSlice,
  Pod,
  ReplicaSet,
  Service,
  startCluster,
  type Cluster,
  type Resource,
} from "../../components/cluster/testing/testing.ts"
import type { KubeObject } from "../../pkg/apimachinery/resource.ts"

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster({ nodes: 2, seed: 1 })
  await cluster.client.create(ConfigMap, { metadata: { name: "settings" }, data: { color: "red" } })
})
afterAll(() => cluster.stop())

const kubectl = async (command: string) => {
  const { code, stdout, stderr } = await cluster.kubectl(command)
  return code === 0 ? stdout : `${code} ${stderr}`
}

test("kubectl get --at shows an object as it was that long ago, in yaml and by name", async () => {
  // given a ConfigMap that is changed after ten minutes, and deleted after twenty
  await cluster.advance("10m")
  await cluster.client.patch(ConfigMap, "settings", { type: "merge", body: { data: { color: "blue" } } })
  await cluster.advance("10m")
  await cluster.delete(ConfigMap, "settings")
  await cluster.advance("1m")
  // when it is asked for, then each point has its state
  expect(await kubectl("get configmap settings -o jsonpath={.data.color} --at 12m")).toBe("red")
  expect(await kubectl("get configmap settings -o jsonpath={.data.color} --at 5m")).toBe("blue")
  expect(await kubectl("get configmap settings --at 30s")).toContain('configmaps "settings" not found')
})

test("a table of the past has the ages of that time", async () => {
  // given a Deployment that is two hours old
  await cluster.apply(`
    { apiVersion: apps/v1, kind: Deployment, metadata: { name: web, namespace: default },
      spec: { replicas: 2, selector: { matchLabels: { app: web } },
        template: { metadata: { labels: { app: web } }, spec: { containers: [{ name: web, image: nginx }] } } } }`)
  await cluster.advance("2h")
  await cluster.scale(Deployment, "web", 5)
  // when it is listed as it was an hour ago
  const table = await kubectl("get deployments --at 1h")
  // then it has the replicas and the age of then
  expect(table).toMatch(/^web +2\/2 +2 +2 +60m$/m)
})

test("a list with selectors and pages is of one revision", async () => {
  const pods = await cluster.list(Pod)
  const names = pods.map(({ metadata }) => metadata.name!).slice(0, 2)
  const { revision } = cluster.history().at(-1)!
  await cluster.delete(Pod, names[0]!)
  const output = await kubectl(`get pods -l app=web --chunk-size 1 -o name --at ${revision}`)
  expect(output.trim().split("\n").sort()).toEqual(pods.map(({ metadata }) => `pod/${metadata.name!}`).sort())
})

test("the past can only be read", async () => {
  expect(await kubectl("scale deployment web --replicas 1 --at 1m")).toContain("the past can only be read")
  expect(await kubectl("logs deployment/web --at 1m")).toStartWith("1 ")
  expect(await kubectl("get pods --at tomorrow")).toContain('--at "tomorrow": must be a resourceVersion, a time')
})

test("reading the past needs the right that reading the present needs", async () => {
  expect(await kubectl("get pods --at 1m --as somebody")).toContain('User "somebody" cannot list resource "pods"')
})

test.each([
  ["pods", Pod, 20],
  ["deployments", Deployment, 8],
  ["replicasets", ReplicaSet, 8],
  ["endpointslices", EndpointSlice, 8],
  ["services", Service, 3],
] as const)("the %s at each revision of a run are those that a watcher saw then", async (plural, kind, least) => {
  // given a watch, and a run in which a Deployment is rolled out and scaled, and its Service deleted and made again
  const { client } = cluster.contextFor("watcher", ["system:masters"])
  const service = { metadata: { name: "web" }, spec: { selector: { app: "web" }, ports: [{ port: 80 }] } }
  const listed = await client.list(kind as Resource, { namespace: "default" })
  const seen = new Map(listed.items.map((object) => [object.metadata.name!, object]))
  const states: (readonly [revision: string, objects: readonly KubeObject[]])[] = []
  const from = listed.metadata.resourceVersion!
  const watch = client.watch(
    kind as Resource,
    { namespace: "default", resourceVersion: from },
    {
      onEvent(event) {
        if (event.type === "BOOKMARK" || event.type === "ERROR") return
        const { name = "", resourceVersion = "" } = event.object.metadata
        if (event.type === "DELETED") seen.delete(name)
        else seen.set(name, event.object)
        states.push([resourceVersion, [...seen.values()]])
      },
      onEnd: () => undefined,
    },
  )
  await cluster.client.create(Service, service)
  await cluster.restart(Deployment, "web")
  await cluster.advance("20s")
  await cluster.scale(Deployment, "web", 3)
  await cluster.delete(Service, "web")
  await cluster.client.create(Service, service)
  await cluster.scale(Deployment, "web", 5)
  await cluster.advance("20s")
  await cluster.delete(Service, "web")
  watch.close()
  expect(states.length).toBeGreaterThan(least)
  // when the objects of each revision are listed, then they are the same
  const byName = (objects: readonly KubeObject[]) =>
    objects.toSorted((one, other) => (one.metadata.name! < other.metadata.name! ? -1 : 1))
  for (const [revision, objects] of [[from, listed.items] as const, ...states]) {
    const text = await kubectl(`get ${plural} -o json --show-managed-fields --at ${revision}`)
    const { items } = JSON.parse(text) as { readonly items: readonly KubeObject[] }
    expect(byName(items)).toEqual(byName(objects).map((object) => JSON.parse(JSON.stringify(object)) as KubeObject))
  }
})
