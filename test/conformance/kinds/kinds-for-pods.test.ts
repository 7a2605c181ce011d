/** What objects of other kinds set and refuse in pods. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster } from "../cluster.ts"
import { NS, podOf } from "./kinds-in-depth.fixtures.ts"

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

describe("LimitRanges", () => {
  test("set defaults for pods, and refuse pods outside of their bounds", async () => {
    await cluster.post("/api/v1/namespaces", { metadata: { name: "limits" } })
    const ns = "/api/v1/namespaces/limits"
    await cluster.post(`${ns}/serviceaccounts`, { metadata: { name: "default" } })
    await cluster.post(`${ns}/limitranges`, {
      metadata: { name: "limit-range" },
      spec: {
        limits: [
          {
            type: "Container",
            min: { cpu: "50m", memory: "100Mi", "ephemeral-storage": "100Gi" },
            max: { cpu: "500m", memory: "500Mi", "ephemeral-storage": "500Gi" },
            default: { cpu: "500m", memory: "500Mi", "ephemeral-storage": "500Gi" },
            defaultRequest: { cpu: "100m", memory: "200Mi", "ephemeral-storage": "200Gi" },
          },
        ],
      },
    })
    const resources = async (name: string, given?: object) =>
      (
        (await cluster.post(`${ns}/pods`, podOf(name, {}, given === undefined ? {} : { resources: given })))
          .spec as unknown as { containers: { resources: object }[] }
      ).containers[0]!.resources
    expect(await resources("none")).toEqual({
      requests: { cpu: "100m", memory: "200Mi", "ephemeral-storage": "200Gi" },
      limits: { cpu: "500m", memory: "500Mi", "ephemeral-storage": "500Gi" },
    })
    expect(await resources("partial", { requests: { cpu: "300m", memory: "150Mi" }, limits: { cpu: "300m" } })).toEqual(
      {
        requests: { cpu: "300m", memory: "150Mi", "ephemeral-storage": "200Gi" },
        limits: { cpu: "300m", memory: "500Mi", "ephemeral-storage": "500Gi" },
      },
    )
    const small = await refused("POST", `${ns}/pods`, podOf("less", {}, { resources: { requests: { cpu: "10m" } } }))
    expect([small.code, small.message]).toEqual([
      403,
      'pods "less" is forbidden: minimum cpu usage per Container is 50m, but request is 10m',
    ])
    const big = await refused(
      "POST",
      `${ns}/pods`,
      podOf("more", {}, { resources: { limits: { cpu: "600m" }, requests: { cpu: "600m" } } }),
    )
    expect([big.code, big.message]).toEqual([
      403,
      'pods "more" is forbidden: maximum cpu usage per Container is 500m, but limit is 600m',
    ])
    await cluster.put(`${ns}/limitranges/limit-range`, {
      metadata: { name: "limit-range" },
      spec: { limits: [{ type: "Container", min: { cpu: "9m" }, max: { cpu: "1" } }] },
    })
    await cluster.post(
      `${ns}/pods`,
      podOf("less", {}, { resources: { requests: { cpu: "10m" }, limits: { cpu: "1" } } }),
    )
  })
})

describe("PriorityClasses", () => {
  const path = "/apis/scheduling.k8s.io/v1/priorityclasses"
  test("never change their value", async () => {
    await cluster.post(path, { metadata: { name: "p1" }, value: 1 })
    const changed = await refused("PATCH", `${path}/p1`, { value: 2 }, "application/merge-patch+json")
    expect([changed.code, changed.message]).toEqual([
      422,
      'PriorityClass.scheduling.k8s.io "p1" is invalid: value: Forbidden: may not be changed in an update.',
    ])
    expect((await cluster.patch(`${path}/p1`, "merge", { description: "patched" }))["description"]).toBe("patched")
    expect((await cluster.get(path)).items.map(({ metadata }) => metadata.name)).toEqual([
      "p1",
      "system-cluster-critical",
      "system-node-critical",
    ])
  })

  test("give pods their priority; unknown ones are refused", async () => {
    expect((await cluster.post(`${NS}/pods`, podOf("prio", { priorityClassName: "p1" }))).spec).toMatchObject({
      priority: 1,
      priorityClassName: "p1",
      preemptionPolicy: "PreemptLowerPriority",
    })
    expect((await refused("POST", `${NS}/pods`, podOf("prio2", { priorityClassName: "none" }))).message).toBe(
      'pods "prio2" is forbidden: no PriorityClass with name none was found',
    )
  })
})

describe("RuntimeClasses", () => {
  test("must exist for their pods, and set the overhead of these", async () => {
    const none = await refused("POST", `${NS}/pods`, podOf("rc", { runtimeClassName: "none" }))
    expect([none.code, none.reason, none.message]).toEqual([
      403,
      "Forbidden",
      'pods "rc" is forbidden: pod rejected: RuntimeClass "none" not found',
    ])
    await cluster.post("/apis/node.k8s.io/v1/runtimeclasses", {
      metadata: { name: "over" },
      handler: "runc",
      overhead: { podFixed: { cpu: "10m", memory: "1Mi" } },
    })
    await cluster.post("/apis/node.k8s.io/v1/runtimeclasses", { metadata: { name: "plain" }, handler: "runc" })
    expect((await cluster.post(`${NS}/pods`, podOf("over", { runtimeClassName: "over" }))).spec["overhead"]).toEqual({
      cpu: "10m",
      memory: "1Mi",
    })
    expect(
      (await cluster.post(`${NS}/pods`, podOf("plain", { runtimeClassName: "plain" }))).spec["overhead"],
    ).toBeUndefined()
    await cluster.delete("/apis/node.k8s.io/v1/runtimeclasses/over")
    expect((await refused("POST", `${NS}/pods`, podOf("over2", { runtimeClassName: "over" }))).code).toBe(403)
    expect(
      (
        await refused(
          "PATCH",
          "/apis/node.k8s.io/v1/runtimeclasses/plain",
          { handler: "other" },
          "application/merge-patch+json",
        )
      ).message,
    ).toContain('handler: Invalid value: "other": field is immutable')
  })
})
