import { describe, expect, test } from "bun:test"
import { Endpoints } from "../../../pkg/api/core/v1/endpoints.ts"
import { Pod } from "../../../pkg/api/core/v1/pod.ts"
import { Service } from "../../../pkg/api/core/v1/service.ts"
import { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { startControlPlane, type ControlPlane } from "../../../pkg/testing/control-plane.ts"
import { addNode, runPods } from "../../../pkg/testing/pods.ts"

const pod = (name: string, more: object = {}) => ({ metadata: { name, namespace: "default", labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web", ports: [{ name: "http", containerPort: 8080 }] }], ...more } })
const service = (more: object = {}) => ({ metadata: { name: "web", namespace: "default" }, spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: "http" }], ...more } })

async function start(): Promise<ControlPlane> {
  const plane = await startControlPlane()
  await addNode(plane, "node-0", { labels: { "topology.kubernetes.io/zone": "z1" } })
  runPods(plane)
  return plane
}
const slicesOf = async ({ client }: ControlPlane) => (await client.list(EndpointSlice, { namespace: "default", labelSelector: "kubernetes.io/service-name=web" })).items
const get = ({ client }: ControlPlane) => client.get(Endpoints, { name: "web", namespace: "default" })

describe("endpoints of a Service", () => {
  test("are its ready pods, by the number behind a named port", async () => {
    await using plane = await start()
    await plane.client.create(Service, service())
    await plane.client.create(Pod, pod("a"))
    await plane.clock.settle()
    // then
    const [slice] = await slicesOf(plane)
    const { uid } = (await plane.client.get(Pod, { name: "a", namespace: "default" })).metadata
    expect(slice).toMatchObject({
      addressType: "IPv4", ports: [{ name: "", protocol: "TCP", port: 8080 }],
      endpoints: [{ addresses: ["10.42.0.1"], conditions: { ready: true, serving: true, terminating: false }, nodeName: "node-0", zone: "z1", targetRef: { kind: "Pod", name: "a", uid } }],
    })
    expect((await get(plane)).subsets).toMatchObject([{ addresses: [{ ip: "10.42.0.1", nodeName: "node-0", targetRef: { name: "a" } }], ports: [{ port: 8080, protocol: "TCP" }] }])
  })

  test("follow labels and readiness", async () => {
    await using plane = await start()
    const { client, clock } = plane
    await client.create(Service, service())
    await client.create(Pod, pod("a"))
    await client.create(Pod, pod("b"))
    await clock.settle()
    expect((await slicesOf(plane))[0]?.endpoints).toHaveLength(2)
    // when one is relabelled and the other turns unready
    await client.patch(Pod, { name: "a", namespace: "default" }, { type: "merge", body: { metadata: { labels: { app: "other" } } } })
    await client.patch(Pod, { name: "b", namespace: "default" }, { type: "strategic", body: { status: { conditions: [{ type: "Ready", status: "False" }] } } }, { subresource: "status" })
    await clock.settle()
    // then
    const [slice] = await slicesOf(plane)
    expect(slice?.endpoints.map(({ targetRef, conditions }) => [targetRef?.name, conditions?.ready])).toEqual([["b", false]])
    expect((await get(plane)).subsets).toMatchObject([{ notReadyAddresses: [{ targetRef: { name: "b" } }] }])
  })

  test("are an empty slice while there is no pod, and go with the Service", async () => {
    await using plane = await start()
    const { client, clock } = plane
    await client.create(Service, service())
    await clock.settle()
    expect((await slicesOf(plane)).map(({ endpoints }) => endpoints)).toEqual([[]])
    // when
    await client.delete(Service, { name: "web", namespace: "default" })
    await clock.settle()
    // then
    expect(await slicesOf(plane)).toEqual([])
    expect((await client.list(Endpoints, { namespace: "default" })).items.map(({ metadata }) => metadata.name)).not.toContain("web")
  })

  test("carry the hostname of pods of a headless Service", async () => {
    await using plane = await start()
    await plane.client.create(Service, service({ clusterIP: "None" }))
    await plane.client.create(Pod, pod("a", { hostname: "first", subdomain: "web" }))
    await plane.clock.settle()
    const [slice] = await slicesOf(plane)
    expect(slice?.endpoints[0]?.hostname).toBe("first")
    expect(slice?.metadata.labels).toHaveProperty(["service.kubernetes.io/headless"], "")
  })

  test("fill slices of a hundred", async () => {
    await using plane = await start()
    const { client, clock } = plane
    await client.create(Service, service())
    await Promise.all(Array.from({ length: 105 }, (_, i) => client.create(Pod, pod(`p${i}`))))
    await clock.settle()
    expect((await slicesOf(plane)).map(({ endpoints }) => endpoints.length).sort((a, b) => a - b)).toEqual([5, 100])
  })
})
