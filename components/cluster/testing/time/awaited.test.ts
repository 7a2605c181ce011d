import { describe, expect, test } from "bun:test"
import { realClock } from "../../../../pkg/clock/real.ts"
import { web } from "../cluster.fixtures.ts"
import {
  ConfigMap,
  defineController,
  Deployment,
  Pod,
  startCluster,
  type Cluster,
  type ClusterOptions,
  type Fault,
} from "../testing.ts"

const POD = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "nginx" }] } }
const controller = () => defineController({ name: "mine", reconciles: ConfigMap, async reconcile() {} })

/** Every method of a cluster that returns a promise. */
const AWAITED: Readonly<Record<string, (cluster: Cluster) => Promise<unknown>>> = {
  addNode: (cluster) => cluster.addNode(),
  "apply of a pod": (cluster) => cluster.apply({ apiVersion: "v1", kind: "Pod", ...POD }),
  "apply of a Deployment": (cluster) => cluster.apply(web(1)),
  list: (cluster) => cluster.list(Pod),
  get: (cluster) => cluster.get(Deployment, "there"),
  find: (cluster) => cluster.find(Deployment, "there"),
  delete: (cluster) => cluster.delete(Deployment, "there"),
  "client.create": (cluster) => cluster.client.create(Pod, { ...POD, metadata: { name: "q", namespace: "default" } }),
  "client.create without a namespace": (cluster) => cluster.client.create(Pod, POD),
  "client.get": (cluster) => cluster.client.get(Deployment, { namespace: "default", name: "there" }),
  "create as another user": (cluster) => cluster.as("alice").create(Pod, POD),
  "create in a new namespace": async (cluster) => {
    await cluster.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } })
    return cluster.client.create(Pod, { ...POD, metadata: { name: "p", namespace: "team" } })
  },
  explain: (cluster) => cluster.explain("solo"),
  logs: (cluster) => cluster.logs("solo"),
  "fetch of an image that sleeps": async (cluster) => {
    const { status } = await cluster.get(Pod, "solo")
    return cluster.fetch(`http://${status.podIP}/`)
  },
  run: (cluster) => cluster.run(controller()),
  "run as a user without rights": (cluster) => cluster.run(controller(), { user: "alice", groups: [] }),
  advance: (cluster) => cluster.advance("1m"),
  advanceTo: (cluster) => cluster.advanceTo(cluster.now.getTime() + 1000),
  settle: (cluster) => cluster.settle(),
  eventually: (cluster) => cluster.eventually(async () => (await cluster.list(Pod)).length > 7),
  "eventually of a list": (cluster) => cluster.eventually(Pod, {}, (pods) => pods.length > 7),
  "a lost node and its end": async (cluster) => (await cluster.faults.nodeLost("node-0")).end(),
  "a partition and its end": async (cluster) => (await cluster.faults.nodePartitioned("node-0")).end(),
  "a crashed kubelet and its end": async (cluster) => (await cluster.faults.crashed({ kubelet: "node-0" })).end(),
  "a crashed scheduler and its end": async (cluster) => (await cluster.faults.crashed("scheduler")).end(),
  "crashed controllers and their end": async (cluster) => (await cluster.faults.crashed("controller-manager")).end(),
  "a crashed API server and its end": async (cluster) => (await cluster.faults.crashed("apiserver")).end(),
}

/** Faults during the call. */
const STATES: readonly {
  readonly name: string
  readonly options?: ClusterOptions
  begin?(cluster: Cluster): Promise<Fault>
}[] = [
  { name: "there are no faults" },
  { name: "the API server is down", begin: (cluster) => cluster.faults.crashed("apiserver") },
  { name: "the controllers are down", begin: (cluster) => cluster.faults.crashed("controller-manager") },
  { name: "there are no controllers", options: { components: { controllers: false } } },
  { name: "all requests are delayed", begin: (cluster) => cluster.faults.requests({ delay: "2s" }) },
  { name: "all requests are delayed for ever", begin: (cluster) => cluster.faults.requests({ delay: "30d" }) },
  { name: "all requests are refused", begin: (cluster) => cluster.faults.requests({ error: "Forbidden" }) },
]

const images = {
  slow: {
    http: async (_: Request, container: { sleep(ms: number): Promise<void> }) => {
      await container.sleep(5000)
      return new Response("late")
    },
  },
}

/** Resolves to what became of it, and fails in real time where the runner would have hung. */
async function outcomeOf(work: Promise<unknown>): Promise<string> {
  const hangs = Promise.withResolvers<string>()
  const timer = realClock.setTimeout(() => hangs.resolve("it hangs"), 8000)
  const said = await Promise.race([
    work.then(
      () => "ended",
      (err: unknown) => String(err),
    ),
    hangs.promise,
  ])
  timer.cancel()
  return said
}

describe.each([...STATES])("while $name", ({ options = {}, begin }) => {
  test.each(Object.keys(AWAITED))("%s returns or throws", async (method) => {
    // given
    const cluster = await startCluster({ nodes: 1, seed: 1, images, ...options })
    await cluster.apply({ ...web(1), metadata: { name: "there" } }).catch(() => undefined)
    await cluster
      .apply({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "solo" },
        spec: { nodeName: "node-0", containers: [{ name: "c", image: "slow" }] },
      })
      .catch(() => undefined)
    await cluster.advance("1s")
    const fault = await begin?.(cluster)
    // when
    const outcome = await outcomeOf(AWAITED[method]!(cluster))
    // then
    expect(outcome).not.toBe("it hangs")
    if (begin === undefined && options.components === undefined && !/another user|without|eventually/.test(method))
      expect(outcome).toBe("ended")
    expect(await outcomeOf(fault?.end() ?? Promise.resolve())).toBe("ended")
    expect(await outcomeOf(cluster.stop())).not.toBe("it hangs")
  })
})

describe("a check of eventually that waits for a request", () => {
  test.each<readonly [string, ClusterOptions, (cluster: Cluster) => Promise<unknown>]>([
    ["to one of several servers", { servers: 3 }, async () => {}],
    ["that a rule delays", {}, (cluster) => cluster.faults.requests({ delay: "2s" })],
  ])("%s sees its response, whichever client sent it", async (_, options, begin) => {
    // given
    await using cluster = await startCluster(options)
    await begin(cluster)
    // when
    const created = cluster
      .contextFor()
      .client.create(ConfigMap, { metadata: { namespace: "default", name: "written" } })
    // then
    await cluster.eventually(() => created.then(() => true))
  })

  test("of a program outside, which takes half a second, moves no time", async () => {
    // given
    await using cluster = await startCluster()
    const before = cluster.now
    // when
    await cluster.eventually(() => new Promise<boolean>((resolve) => realClock.setTimeout(() => resolve(true), 500)))
    // then
    expect(cluster.now).toEqual(before)
  })

  test("that never comes fails with a message", async () => {
    // given
    await using cluster = await startCluster()
    // when
    const waited = cluster.eventually(() => new Promise<boolean>(() => {}))
    // then
    expect(await outcomeOf(waited)).toContain("the check of `eventually` waits for something")
  })
})
