import { describe, expect, test } from "bun:test"
import { web } from "../cluster.fixtures.ts"
import {
  ApiError,
  ConfigMap,
  DaemonSet,
  Deployment,
  isNotFound,
  Node,
  Pod,
  PodDisruptionBudget,
  StatefulSet,
  startCluster,
  TestClusterError,
  type Cluster,
  type WaitCondition,
} from "../testing.ts"

const containers = [{ name: "c", image: "example.com/app:1" }]
const pod = (name: string, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { containers, ...spec },
})
const daemons = {
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name: "agent" },
  spec: {
    selector: { matchLabels: { app: "agent" } },
    template: { metadata: { labels: { app: "agent" } }, spec: { containers } },
  },
}
const budget = (minAvailable: number) => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name: "web" },
  spec: { minAvailable, selector: { matchLabels: { app: "web" } } },
})
const ready = (cluster: Cluster, count: number) =>
  cluster.eventually(Deployment, {}, ([deployment]) => deployment?.status.readyReplicas === count, { within: "5m" })

/** Returns the error that `run` throws. */
async function errorOf(run: () => Promise<unknown>): Promise<Error> {
  try {
    await run()
  } catch (err) {
    return err as Error
  }
  throw new Error("nothing was thrown")
}

describe("scale", () => {
  test("sets the replicas of any kind with a scale", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(web(1))
    const deployment = await cluster.get(Deployment, "web")
    // when
    await cluster.scale(Deployment, deployment, 3)
    // then
    await ready(cluster, 3)
    expect(await cluster.list(Pod)).toHaveLength(3)
  })

  test("fails for a kind without a scale", async () => {
    await using cluster = await startCluster()
    await cluster.client.create(ConfigMap, { metadata: { name: "a" } })
    expect(isNotFound(await errorOf(() => cluster.scale(ConfigMap, "a", 3)))).toBe(true)
  })
})

describe("restart", () => {
  test.each([
    ["Deployment", Deployment, web(2)],
    ["DaemonSet", DaemonSet, daemons],
    [
      "StatefulSet",
      StatefulSet,
      { ...daemons, kind: "StatefulSet", spec: { ...daemons.spec, serviceName: "agent", replicas: 2 } },
    ],
  ] as const)("replaces all pods of a %s", async (_kind, resource, object) => {
    // given
    await using cluster = await startCluster({ nodes: 2 })
    const [applied] = await cluster.apply(object)
    const before = await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 2)
    // when
    await cluster.restart<Deployment | DaemonSet | StatefulSet>(resource, applied!)
    // then
    const old = new Set(before.map(({ metadata }) => metadata.uid))
    await cluster.eventually(
      Pod,
      { phase: "Running" },
      (pods) => pods.length === 2 && pods.every(({ metadata }) => !old.has(metadata.uid)),
      { within: "5m" },
    )
  })

  test("refuses a restart that would change nothing, and kinds without a rollout", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply([web(1), pod("solo")])
    await cluster.restart(Deployment, "web")
    const again = await errorOf(() => cluster.restart(Deployment, "web"))
    expect(again.message).toContain("twice within one second")
    await cluster.advance("1s")
    await cluster.restart(Deployment, "web")
    expect((await errorOf(() => cluster.restart(Pod, "solo"))).message).toContain("restarting is not supported")
    await cluster.client.patch(Deployment, "web", { type: "merge", body: { spec: { paused: true } } })
    await cluster.advance("1s")
    expect((await errorOf(() => cluster.restart(Deployment, "web"))).message).toContain("paused")
  })
})

test("cordon keeps new pods off a node until uncordon", async () => {
  // given a node that is cordoned
  await using cluster = await startCluster({ nodes: 1 })
  await cluster.cordon("node-0")
  await cluster.apply(web(1))
  await cluster.advance("1m")
  expect(await cluster.list(Pod, { phase: "Running" })).toHaveLength(0)
  expect((await cluster.get(Node, "node-0")).spec.unschedulable).toBe(true)
  // when, then
  await cluster.uncordon(await cluster.get(Node, "node-0"))
  await ready(cluster, 1)
})

describe("evict", () => {
  test("deletes a pod, unless a disruption budget forbids it", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply([web(1), budget(1), pod("solo")])
    await ready(cluster, 1)
    await cluster.eventually(PodDisruptionBudget, {}, ([found]) => found?.status.currentHealthy === 1)
    // when, then
    await cluster.evict("solo", { gracePeriodSeconds: 0 })
    expect(await cluster.find(Pod, "solo")).toBeUndefined()
    const [replica] = await cluster.list(Pod, { labels: "app=web" })
    const err = await errorOf(() => cluster.evict(replica!))
    expect(err).toBeInstanceOf(ApiError)
    expect((err as ApiError).reason).toBe("TooManyRequests")
    expect(err.stack).toContain("verbs.test.ts")
  })
})

describe("drain", () => {
  test("evicts pods one after another as the budget allows, and leaves pods of DaemonSets", async () => {
    // given two replicas on a node, of which one must always be there
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply([web(2), budget(1), daemons])
    await ready(cluster, 2)
    await cluster.addNode()
    await cluster.eventually(PodDisruptionBudget, {}, ([found]) => found?.status.disruptionsAllowed === 1)
    // when
    const gone = await cluster.drain("node-0")
    // then both went, at different times, and the daemon stays
    expect(gone.map(({ metadata }) => metadata.labels?.["app"])).toEqual(["web", "web"])
    expect((await cluster.get(Node, "node-0")).spec.unschedulable).toBe(true)
    const left = await cluster.list(Pod, { fields: "spec.nodeName=node-0" })
    expect(left.map(({ metadata }) => metadata.labels?.["app"])).toEqual(["agent"])
    const deleted = cluster
      .history({ kind: "Pod" })
      .filter(({ type, object }) => type === "update" && gone.some((one) => one.metadata.uid === object.metadata.uid))
      .filter(
        ({ object, previous }) =>
          object.metadata.deletionTimestamp !== undefined && previous?.metadata.deletionTimestamp === undefined,
      )
    expect(new Set(deleted.map(({ time }) => time)).size).toBe(2)
    await ready(cluster, 2)
  })

  test("fails after `within` with the budget's message", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply([web(1), budget(1)])
    await ready(cluster, 1)
    const began = cluster.now.getTime()
    const err = await errorOf(() => cluster.drain("node-0", { within: "1m" }))
    expect(err).toBeInstanceOf(TestClusterError)
    expect(err.message).toContain('Node "node-0" is not drained within 1m0s')
    expect(err.message).toContain("would violate the pod's disruption budget")
    expect(cluster.now.getTime() - began).toBe(60_000)
  })

  const IN_THE_WAY = [
    { what: "a pod without a controller", object: pod("solo"), says: "declare no controller", mend: { force: true } },
    {
      what: "a pod with an emptyDir",
      object: pod("solo", { volumes: [{ name: "data", emptyDir: {} }] }),
      says: "local storage",
      mend: { force: true, deleteEmptyDirData: true },
    },
  ]
  test.each(IN_THE_WAY)(
    "evicts nothing if there is $what, unless an option allows it",
    async ({ object, says, mend }) => {
      await using cluster = await startCluster({ nodes: 1 })
      await cluster.apply([object, web(1)])
      await ready(cluster, 1)
      // when, then
      const err = await errorOf(() => cluster.drain("node-0"))
      expect(err.message).toContain(says)
      expect(err.message).toContain("default/solo")
      expect(await cluster.list(Pod, { fields: "spec.nodeName=node-0" })).toHaveLength(2)
      // and
      expect(await cluster.drain("node-0", mend)).toHaveLength(2)
      expect(await cluster.list(Pod, { fields: "spec.nodeName=node-0" })).toHaveLength(0)
    },
  )

  test("refuses pods of DaemonSets with ignoreDaemonSets: false", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(daemons)
    await cluster.eventually(Pod, {}, (pods) => pods.length === 1)
    const err = await errorOf(() => cluster.drain("node-0", { ignoreDaemonSets: false }))
    expect(err.message).toContain("DaemonSet-managed")
  })
})

describe("exec", () => {
  test("returns the output that the image gives", async () => {
    await using cluster = await startCluster({
      nodes: 1,
      images: { "example.com/app": { exec: ([word]) => (word === "ls" ? "a b\n" : { exitCode: 3, stderr: "no" }) } },
    })
    await cluster.apply(pod("solo"))
    await cluster.waitFor(Pod, "solo", "condition=Ready")
    expect(await cluster.exec("solo", ["ls"])).toEqual({ exitCode: 0, stdout: "a b\n", stderr: "" })
    expect(await cluster.exec("solo", ["rm"], "c")).toEqual({ exitCode: 3, stdout: "", stderr: "no" })
  })

  test("fails if no container runs", async () => {
    await using cluster = await startCluster()
    await cluster.apply(pod("solo"))
    const err = await errorOf(() => cluster.exec("solo", ["ls"]))
    expect(err.message).toContain("in pod default/solo: it has no such container")
  })
})

describe("waitFor", () => {
  const MET: readonly WaitCondition[] = [
    "condition=Ready",
    "condition=ready=true",
    "jsonpath={.status.phase}=Running",
    "jsonpath='{.status.phase}'=Running",
    "jsonpath=status.phase=Running",
    "jsonpath={.status.podIP}",
    'jsonpath={.status.conditions[?(@.type=="Ready")].status}=True',
    "create",
  ]
  test.each(MET)("waits for %s", async (condition) => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(pod("solo"))
    const found = await cluster.waitFor(Pod, "solo", condition)
    expect(found.metadata.name).toBe("solo")
    if (condition !== "create") expect(found.status.podIP).toBeDefined()
  })

  test("waits for several conditions, one after another", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    const waiting = cluster.waitFor(Deployment, "web", ["create", "condition=Available"])
    await cluster.apply(web(2))
    expect((await waiting).status.availableReplicas).toBe(2)
  })

  test("ignores a condition of an earlier generation", async () => {
    // given a Deployment that is available, and controllers that are away when it is changed
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(web(1))
    await cluster.waitFor(Deployment, "web", "condition=Available")
    await using crash = await cluster.faults.crashed("controller-manager")
    await cluster.scale(Deployment, "web", 2)
    // then
    const err = await errorOf(() => cluster.waitFor(Deployment, "web", "condition=Available"))
    expect(err.message).toMatch(/its condition Available is of generation \d, and it is at \d/)
    await crash.end()
    await cluster.waitFor(Deployment, "web", "condition=Available")
  })

  test("waits for deletion, and takes a new object of the same name for a different one", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply({ ...pod("solo"), metadata: { name: "solo", finalizers: ["example.com/held"] } })
    await cluster.delete(Pod, "solo", { gracePeriodSeconds: 0 })
    const err = await errorOf(() => cluster.waitFor(Pod, "solo", "delete", { within: "10s" }))
    expect(err.message).toContain("it is there, being deleted; finalizers: example.com/held")
    await cluster.client.patch(Pod, "solo", { type: "merge", body: { metadata: { finalizers: null } } })
    await cluster.waitFor(Pod, "solo", "delete")
    expect(await cluster.find(Pod, "solo")).toBeUndefined()
    await cluster.waitFor(Pod, "solo", "delete")
  })

  test("explains at its timeout why the condition is not met", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.faults.imagePull("example.com/*")
    await cluster.apply(pod("solo"))
    const began = cluster.now.getTime()
    const err = await errorOf(() => cluster.waitFor(Pod, "solo", "condition=Ready"))
    expect(err.message).toContain("its condition Ready is False (ContainersNotReady")
    expect(err.stack).toContain("verbs.test.ts")
    expect(cluster.now.getTime() - began).toBe(30_000)
  })

  test("fails at once for an object that does not exist, and for an invalid condition", async () => {
    await using cluster = await startCluster()
    expect(isNotFound(await errorOf(() => cluster.waitFor(Pod, "solo", "condition=Ready")))).toBe(true)
    for (const wrong of ["ready", "jsonpath={.a", "condition="]) {
      // A test in JavaScript may give anything.
      const err = await errorOf(() => cluster.waitFor(Pod, "solo", wrong as WaitCondition))
      expect(err).toBeInstanceOf(TestClusterError)
    }
  })
})

test.each(["no-such", "scale"])(
  "the subresource %s of a kind without it is refused by the in-process client too",
  async (subresource) => {
    await using cluster = await startCluster()
    await cluster.client.create(ConfigMap, { metadata: { name: "a" } })
    const patch = { type: "merge", body: { spec: { replicas: 3 } } } as const
    expect(isNotFound(await errorOf(() => cluster.client.patch(ConfigMap, "a", patch, { subresource })))).toBe(true)
    expect(isNotFound(await errorOf(() => cluster.client.updateSubresource(ConfigMap, "a", subresource, {})))).toBe(
      true,
    )
  },
)
