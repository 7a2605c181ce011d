/** Where pods run and how they are found: scheduler, endpoints, disruption budgets. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { ConformanceCluster, Loose } from "../cluster.ts"
import { APPS, condition, NS, podsOf, podSpec, running, selected, startWorkloadCluster } from "./workload-cluster.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startWorkloadCluster()
})
afterAll(() => cluster.stop())

test("at least two nodes run pods", async () => {
  const nodes = await cluster.untilList(
    "/api/v1/nodes",
    (all) =>
      all.filter(
        (node) =>
          condition(node, "Ready")?.status === "True" &&
          ((node.spec["taints"] as object[] | undefined) ?? []).length === 0,
      ).length >= 2,
  )
  expect(nodes).toHaveLength(2)
})

describe("endpoints", () => {
  const SLICES = "/apis/discovery.k8s.io/v1/namespaces/w/endpointslices"
  const slices = (service: string) => `${SLICES}?labelSelector=kubernetes.io/service-name%3D${service}`

  test("exist as long as a Service that selects no pod", async () => {
    await cluster.post(`${NS}/services`, {
      metadata: { name: "empty" },
      spec: { selector: { app: "nobody" }, ports: [{ name: "example", port: 80 }] },
    })
    await cluster.until(`${NS}/endpoints/empty`, (found) => found !== undefined)
    await cluster.untilList(slices("empty"), (found) => found.length === 1)
    await cluster.delete(`${NS}/services/empty`)
    await cluster.until(`${NS}/endpoints/empty`, (found) => found === undefined)
    await cluster.untilList(slices("empty"), (found) => found.length === 0)
  })

  test("contain the pods that a Service selects, with resolved port names", async () => {
    for (const n of [1, 2])
      await cluster.post(`${NS}/pods`, {
        metadata: { name: `ep-${n}`, labels: { [`foo${n}`]: "bar", app: "ep" } },
        spec: { containers: [{ name: "c", image: "i", ports: [{ name: "example-name", containerPort: 3000 + n }] }] },
      })
    const pods = await cluster.untilList(podsOf("ep"), running(2))
    for (const n of [1, 2])
      await cluster.post(`${NS}/services`, {
        metadata: { name: `ep-${n}` },
        spec: {
          selector: { [`foo${n}`]: "bar" },
          publishNotReadyAddresses: true,
          ports: [{ name: "example", port: 80, targetPort: n === 1 ? 3001 : "example-name" }],
        },
      })
    for (const n of [1, 2]) {
      const ip = pods.find(({ metadata }) => metadata.name === `ep-${n}`)!.status["podIP"] as string
      const [slice] = await cluster.untilList(slices(`ep-${n}`), (found) => JSON.stringify(found).includes(ip))
      expect(slice).toMatchObject({
        addressType: "IPv4",
        ports: [{ name: "example", port: 3000 + n, protocol: "TCP" }],
        endpoints: [{ addresses: [ip], conditions: { ready: true }, targetRef: { kind: "Pod", name: `ep-${n}` } }],
        metadata: { labels: { "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io" } },
      })
      await cluster.until(`${NS}/endpoints/ep-${n}`, (found) => JSON.stringify(found?.["subsets"] ?? []).includes(ip))
    }
  })

  test("that a user creates are mirrored", async () => {
    await cluster.post(`${NS}/services`, {
      metadata: { name: "custom" },
      spec: { ports: [{ name: "example", port: 80 }] },
    })
    const endpoints = (ip: string) => ({
      metadata: { name: "custom" },
      subsets: [{ ports: [{ port: 80 }], addresses: [{ ip }] }],
    })
    await cluster.post(`${NS}/endpoints`, endpoints("10.1.2.3"))
    await cluster.untilList(
      slices("custom"),
      (found) => found.length === 1 && JSON.stringify(found).includes('"10.1.2.3"'),
    )
    await cluster.put(`${NS}/endpoints/custom`, endpoints("10.2.3.4"))
    const [slice] = await cluster.untilList(
      slices("custom"),
      (found) => found.length === 1 && JSON.stringify(found).includes('"10.2.3.4"'),
    )
    expect(slice).toMatchObject({ ports: [{ port: 80 }], endpoints: [{ addresses: ["10.2.3.4"] }] })
    await cluster.delete(`${NS}/endpoints/custom`)
    await cluster.untilList(slices("custom"), (found) => found.length === 0)
  })
})

describe("disruption budgets", () => {
  const path = "/apis/policy/v1/namespaces/w/poddisruptionbudgets"
  test("count pods, block evictions, and allow them once enough pods are ready", async () => {
    await cluster.post(`${APPS}/replicasets`, { metadata: { name: "pdb" }, spec: { replicas: 3, ...selected("pdb") } })
    const [pod] = await cluster.untilList(podsOf("pdb"), running(3))
    await cluster.post(path, {
      metadata: { name: "pdb" },
      spec: { minAvailable: 3, selector: { matchLabels: { app: "pdb" } } },
    })
    const counted = await cluster.until(
      `${path}/pdb`,
      (found) => found?.status["currentHealthy"] === 3 && found.status.observedGeneration === found.metadata.generation,
    )
    expect(counted.status).toMatchObject({ desiredHealthy: 3, expectedPods: 3, disruptionsAllowed: 0 })
    const evict = () =>
      cluster.send("POST", `${NS}/pods/${pod!.metadata.name}/eviction`, {
        body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: pod!.metadata.name } },
      })
    const blocked = await evict()
    expect([blocked.code, blocked.body.reason, blocked.body.message]).toEqual([
      429,
      "TooManyRequests",
      "Cannot evict pod as it would violate the pod's disruption budget.",
    ])
    expect(blocked.body["details"]).toMatchObject({
      causes: [
        { reason: "DisruptionBudget", message: "The disruption budget pdb needs 3 healthy pods and has 3 currently" },
      ],
    })
    await cluster.patch(`${path}/pdb`, "merge", { spec: { minAvailable: 2 } })
    await cluster.until(`${path}/pdb`, (found) => found?.status["disruptionsAllowed"] === 1)
    expect((await evict()).code).toBe(201)
    await cluster.until(`${NS}/pods/${pod!.metadata.name}`, (found) => found === undefined)
  })

  test("are listed in all namespaces and deleted together", async () => {
    for (const n of [1, 2])
      await cluster.post(path, {
        metadata: { name: `list-${n}`, labels: { list: "yes" } },
        spec: { maxUnavailable: "1%", selector: { matchLabels: { app: "none" } } },
      })
    expect((await cluster.get("/apis/policy/v1/poddisruptionbudgets?labelSelector=list%3Dyes")).items).toHaveLength(2)
    await cluster.delete(`${path}?labelSelector=list%3Dyes`)
    expect((await cluster.get(`${path}?labelSelector=list%3Dyes`)).items).toEqual([])
  })
})

describe("the scheduler", () => {
  const unschedulable = (pod: Loose | undefined) => condition(pod, "PodScheduled")?.reason === "Unschedulable"
  test("respects resources, node selectors and host ports", async () => {
    const pod = (name: string, spec: object) => ({ metadata: { name }, spec: { ...podSpec(), ...spec } })
    const big = (cpu: string) => ({ containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }] })
    await cluster.post(`${NS}/pods`, pod("too-big", big("100")))
    expect(condition(await cluster.until(`${NS}/pods/too-big`, unschedulable), "PodScheduled")?.message).toStartWith(
      "0/2 nodes are available: 2 Insufficient cpu.",
    )
    await cluster.post(`${NS}/pods`, pod("nowhere", { nodeSelector: { label: "nonempty" } }))
    expect(condition(await cluster.until(`${NS}/pods/nowhere`, unschedulable), "PodScheduled")?.message).toStartWith(
      "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
    )
    await cluster.patch("/api/v1/nodes/node-0", "merge", { metadata: { labels: { label: "nonempty" } } })
    expect(
      (await cluster.until(`${NS}/pods/nowhere`, (found) => found?.status.phase === "Running")).spec.nodeName,
    ).toBe("node-0")
    const port = (name: string, hostIP: string) =>
      pod(name, {
        nodeSelector: { "kubernetes.io/hostname": "node-0" },
        containers: [
          { name: "c", image: "i", ports: [{ containerPort: 80, hostPort: 54322, protocol: "TCP", hostIP }] },
        ],
      })
    await cluster.post(`${NS}/pods`, port("port4", "0.0.0.0"))
    await cluster.until(`${NS}/pods/port4`, (found) => found?.status.phase === "Running")
    await cluster.post(`${NS}/pods`, port("port5", "127.0.0.1"))
    expect(condition(await cluster.until(`${NS}/pods/port5`, unschedulable), "PodScheduled")?.message).toContain(
      "node(s) didn't have free ports for the requested pod ports",
    )
    for (const name of ["too-big", "nowhere", "port4", "port5"])
      await cluster.delete(`${NS}/pods/${name}`, { gracePeriodSeconds: 0 })
  })

  test("preempts pods for pods of higher priority, and sets their condition DisruptionTarget", async () => {
    for (const n of [0, 1])
      await cluster.patch(`/api/v1/nodes/node-${n}/status`, "merge", {
        status: { capacity: { "example.com/fake": "5" }, allocatable: { "example.com/fake": "5" } },
      })
    for (const [name, value] of [
      ["low", 1],
      ["medium", 100],
      ["high", 1000],
    ] as const)
      await cluster.post("/apis/scheduling.k8s.io/v1/priorityclasses", { metadata: { name }, value })
    const pod = (name: string, priorityClassName: string, more: object = {}) => ({
      metadata: { name, ...more },
      spec: {
        priorityClassName,
        containers: [
          {
            name: "c",
            image: "i",
            resources: { requests: { "example.com/fake": "4" }, limits: { "example.com/fake": "4" } },
          },
        ],
      },
    })
    await cluster.post(`${NS}/pods`, pod("victim", "low", { finalizers: ["example.com/test-finalizer"] }))
    await cluster.post(`${NS}/pods`, pod("other", "medium"))
    for (const name of ["victim", "other"])
      await cluster.until(`${NS}/pods/${name}`, (found) => found?.status.phase === "Running")
    await cluster.post(`${NS}/pods`, pod("preemptor", "high"))
    const victim = await cluster.until(
      `${NS}/pods/victim`,
      (found) => condition(found, "DisruptionTarget") !== undefined && found?.metadata.deletionTimestamp !== undefined,
    )
    expect(condition(victim, "DisruptionTarget")).toMatchObject({
      status: "True",
      reason: "PreemptionByScheduler",
      observedGeneration: 1,
    })
    await cluster.patch(`${NS}/pods/victim`, "merge", { metadata: { finalizers: null } })
    await cluster.until(`${NS}/pods/preemptor`, (found) => found?.status.phase === "Running")
    expect((await cluster.get(`${NS}/pods/other`)).metadata.deletionTimestamp).toBeUndefined()
    await cluster.post("/api/v1/namespaces/kube-system/pods", pod("critical", "system-cluster-critical"))
    await cluster.until("/api/v1/namespaces/kube-system/pods/critical", (found) => found?.status.phase === "Running")
    await cluster.until(`${NS}/pods/other`, (found) => found === undefined)
  })
})
