import { expect, test } from "bun:test"
import { ConfigMap, Node, Pod, startCluster } from "../../../components/cluster/testing/testing.ts"
import { startFork } from "../../../components/cluster/testing/forecast/fork.ts"
import { liveObjects } from "./live-objects.ts"

const WIDGETS = `
  apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: { name: widgets.example.com }
  spec:
    group: example.com
    names: { plural: widgets, singular: widget, kind: Widget }
    scope: Namespaced
    versions:
      - { name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } } }`

test("a copy made of lists of the API has the objects of the cluster, custom ones too", async () => {
  // given a cluster with a pod, and an object of a kind of its own
  await using cluster = await startCluster({ nodes: 2 })
  await cluster.apply(WIDGETS)
  await cluster.apply(
    "{ apiVersion: example.com/v1, kind: Widget, metadata: { name: one, namespace: default }, size: 3 }",
  )
  await cluster.apply(
    "{ apiVersion: v1, kind: Pod, metadata: { name: web, namespace: default }, spec: { containers: [{ name: main, image: nginx }] } }",
  )
  await cluster.advance("1m")
  // when its lists are read as kubectl reads them, and a copy is started
  const { left, ...content } = await liveObjects(async (path) => {
    const { code, stdout } = await cluster.kubectl(["get", "--raw", path])
    return code === 0 ? (JSON.parse(stdout) as unknown) : undefined
  }, cluster.contextFor().clock.now())
  const { cluster: copy } = await startFork(content)
  await copy.advance("5m")
  // then the copy has them, and its pod runs again, with the same uid and on the same node
  expect(left).toEqual([])
  const Widget = copy.kind("example.com/v1", "Widget")
  expect((await copy.get(Widget, "one")) as object).toMatchObject({ size: 3 })
  const [pod, real] = [await copy.get(Pod, "web"), await cluster.get(Pod, "web")]
  expect([pod.metadata.uid, pod.spec.nodeName, pod.status.phase]).toEqual([
    real.metadata.uid,
    real.spec.nodeName,
    "Running",
  ])
  expect((await copy.list(Node)).map(({ status }) => status.capacity)).toEqual(
    (await cluster.list(Node)).map(({ status }) => status.capacity),
  )
  // and what is written there stays there
  await copy.client.create(ConfigMap, { metadata: { name: "inside" } })
  expect(await cluster.find(ConfigMap, "inside")).toBeUndefined()
  await copy.stop()
})

test("kinds that may not be listed are named, and left out", async () => {
  await using cluster = await startCluster()
  const { left } = await liveObjects(async (path) => {
    if (path.includes("/secrets")) return undefined
    const { code, stdout } = await cluster.kubectl(["get", "--raw", path])
    return code === 0 ? (JSON.parse(stdout) as unknown) : undefined
  }, 0)
  expect(left).toEqual(["Secret objects: there are none, or you may not list them"])
})
