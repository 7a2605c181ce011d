import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster } from "../cluster.ts"
import { NS } from "./kinds-in-depth.fixtures.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startConformanceCluster()
  await cluster.post("/api/v1/namespaces", { metadata: { name: "k" } })
  await cluster.post(`${NS}/serviceaccounts`, { metadata: { name: "default" } })
})
afterAll(() => cluster.stop())

const refused = async (method: string, path: string, body: unknown, type = "application/json") => {
  const { code, body: status } = await cluster.send(method, path, { body, type })
  return { code, reason: status.reason, message: status.message }
}
describe("Services", () => {
  const services = `${NS}/services`
  const service = (name: string, spec: object) => ({
    metadata: { name, labels: { "test-service": name } },
    spec: { ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: 8080 }], ...spec },
  })

  test("have a status that can be read, patched and updated", async () => {
    await cluster.post(services, service("status", { type: "LoadBalancer" }))
    const patched = await cluster.patch(`${services}/status/status`, "merge", {
      metadata: { annotations: { patchedstatus: "true" } },
      status: { loadBalancer: { ingress: [{ ip: "203.0.113.1" }] } },
    })
    expect(patched).toMatchObject({
      metadata: { annotations: { patchedstatus: "true" } },
      status: { loadBalancer: { ingress: [{ ip: "203.0.113.1" }] } },
    })
    const updated = await cluster.put(`${services}/status/status`, {
      ...patched,
      status: {
        ...patched.status,
        conditions: [
          {
            type: "StatusUpdate",
            status: "True",
            reason: "E2E",
            message: "Set from e2e test",
            lastTransitionTime: "2026-01-01T00:00:00Z",
          },
        ],
      },
    })
    expect(updated.status.conditions).toHaveLength(1)
    const spec = await cluster.patch(`${services}/status`, "strategic", {
      metadata: { labels: { "test-service": "patched" } },
    })
    expect(spec.status).toEqual(updated.status)
    await cluster.delete(`${services}/status`)
  })

  test("change from ExternalName to ClusterIP and NodePort, and back", async () => {
    const external = await cluster.post(services, {
      metadata: { name: "convert" },
      spec: { type: "ExternalName", externalName: "foo.example.com" },
    })
    expect([external.spec.clusterIP, external.spec["ports"], external.spec["sessionAffinity"]]).toEqual([
      undefined,
      undefined,
      "None",
    ])
    const update = async (change: (spec: Record<string, unknown>) => Record<string, unknown>) => {
      const now = await cluster.get(`${services}/convert`)
      return cluster.put(`${services}/convert`, { ...now, spec: change({ ...now.spec }) })
    }
    const cluster1 = await update(({ externalName: _, ...spec }) => ({
      ...spec,
      type: "ClusterIP",
      ports: [{ name: "http", port: 80 }],
    }))
    expect(cluster1.spec.clusterIP).toMatch(/^10\.43\./)
    expect(cluster1.spec).toMatchObject({
      clusterIPs: [cluster1.spec.clusterIP!],
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      internalTrafficPolicy: "Cluster",
    })
    const nodePort = await update((spec) => ({ ...spec, type: "NodePort" }))
    const [{ nodePort: port } = { nodePort: 0 }] = nodePort.spec["ports"] as { nodePort: number }[]
    expect([port >= 30_000, nodePort.spec.clusterIP, nodePort.spec["externalTrafficPolicy"]]).toEqual([
      true,
      cluster1.spec.clusterIP,
      "Cluster",
    ])
    const back = await update((spec) => ({ ...spec, type: "ClusterIP" }))
    expect((back.spec["ports"] as { nodePort?: number }[])[0]!.nodePort).toBeUndefined()
    const gone = await update((spec) => ({
      ...spec,
      type: "ExternalName",
      externalName: "foo.example.com",
      clusterIP: "",
      clusterIPs: undefined,
      ports: undefined,
      ipFamilies: undefined,
      ipFamilyPolicy: undefined,
      internalTrafficPolicy: undefined,
    }))
    expect([gone.spec.clusterIP, gone.spec["clusterIPs"], gone.spec["internalTrafficPolicy"]]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    await cluster.delete(`${services}/convert`)
  })

  test("keep one port number for TCP and UDP, keep their address, and are deleted as a collection", async () => {
    const both = await cluster.post(
      services,
      service("both", {
        type: "NodePort",
        ports: [
          { name: "tcp-port", port: 53, protocol: "TCP" },
          { name: "udp-port", port: 53, protocol: "UDP" },
        ],
      }),
    )
    expect(both.spec["ports"]).toHaveLength(2)
    const moved = await refused("PUT", `${services}/both`, {
      ...both,
      spec: { ...both.spec, clusterIP: "10.43.9.9", clusterIPs: ["10.43.9.9"] },
    })
    expect(moved.code).toBe(422)
    expect(moved.message).toContain("may not change once set")
    const headless = await cluster.post(services, service("headless", { clusterIP: "None" }))
    expect(headless.spec).toMatchObject({ clusterIP: "None", clusterIPs: ["None"] })
    await cluster.delete(`${services}?labelSelector=test-service+in+(both,headless)`)
    expect((await cluster.get(`${services}?labelSelector=test-service+in+(both,headless)`)).items).toEqual([])
  })

  test("include one for the API server, with its address in Endpoints and EndpointSlice", async () => {
    expect((await cluster.get("/api/v1/namespaces/default/services/kubernetes")).spec).toMatchObject({
      ports: [{ name: "https", port: 443, protocol: "TCP" }],
    })
    expect(await cluster.get("/api/v1/namespaces/default/endpoints/kubernetes")).toMatchObject({
      subsets: [{ ports: [{ name: "https" }] }],
    })
    const slices = await cluster.get(
      "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name%3Dkubernetes",
    )
    expect(slices.items).toMatchObject([{ addressType: "IPv4", ports: [{ name: "https" }] }])
    expect((await cluster.get("/api/v1/services?fieldSelector=metadata.name%3Dkubernetes")).items).toHaveLength(1)
  })
})
