import { describe, expect, test } from "bun:test"
import { web } from "./cluster.fixtures.ts"
import {
  ConfigMap,
  Deployment,
  Pod,
  Service,
  startCluster,
  TestClusterError,
  type Cluster,
  type ClusterOptions,
  type Duration,
  type RequestRule,
} from "./testing.ts"

/** Returns the error that `run` throws. */
async function errorOf(run: () => Promise<unknown>): Promise<Error> {
  try {
    await run()
  } catch (err) {
    return err as Error
  }
  throw new Error("nothing was thrown")
}

const OPTIONS: readonly [ClusterOptions, string][] = [
  [{ nodes: -1 }, "nodes: -1: expected a whole number"],
  [{ nodes: [{ name: "A" }] }, 'Cannot name a node "A"'],
  [{ nodes: [{ name: "a" }, { name: "a" }] }, 'nodes that have the same name "a"'],
  [{ nodes: [{ capacity: { memory: "lots" } }] }, 'memory "lots": expected a quantity'],
  [{ seed: 1.5 }, "Cannot use seed 1.5"],
  [{ autoscalerSyncPeriod: 0 }, "Cannot use autoscalerSyncPeriod 0: expected a second or more"],
  [{ eventTtl: "500ms" }, 'Cannot use eventTtl "500ms": expected whole seconds'],
  [{ startTime: "yesterday" }, 'Cannot use "yesterday" as a time'],
  [{ preload: "no/such/file.yaml" }, "there is no such file"],
  [unknown({ node: 3 }), 'startCluster has no option "node"; did you mean nodes?'],
  [unknown({ components: { schedulers: false } }), 'components has no part "schedulers"; did you mean scheduler?'],
  [unknown({ components: { controllers: { disable: [] } } }), 'has no option "disable"; did you mean disabled?'],
  [unknown({ admission: { enabled: [] } }), 'admission has no option "enabled"'],
  [unknown({ nodes: [{ taint: [] }] }), 'a node has no option "taint"; did you mean taints?'],
  [unknown({ nodes: [{ capacity: { gpu: 1 } }] }), 'the capacity of a node has no "gpu"'],
  [unknown({ images: { web: { startsMs: 1 } } }), 'the image "web" cannot have "startsMs"; did you mean startMs?'],
]

/** Options that the types refuse. */
function unknown(options: object): ClusterOptions {
  return options as ClusterOptions
}

test.each(OPTIONS)("options %j are refused", async (options, message) => {
  const err = await errorOf(() => startCluster(options))
  expect(err).toBeInstanceOf(TestClusterError)
  expect(err.message).toContain(message)
  expect(err.stack).toContain("misuse.test.ts")
})

test.each<readonly [ClusterOptions, string]>([
  [
    { components: { controllers: { disabled: ["jobs-controller"] } } },
    '"jobs-controller"; did you mean job-controller?',
  ],
  [{ admission: { disabled: ["ServiceAcount"] } }, '"ServiceAcount"; did you mean ServiceAccount?'],
])("the unknown name in %j is refused", async (options, message) => {
  expect((await errorOf(() => startCluster(options))).message).toContain(message)
})

test("a node that is added, and an image that is set, are checked as those of the options", async () => {
  // given
  await using cluster = await startCluster()
  // when
  const added = await errorOf(() => cluster.addNode({ label: {} } as object))
  const set = await errorOf(async () => cluster.setImage("web", { log: [] } as object))
  // then
  expect(added.message).toBe('a node has no option "label"; did you mean labels?')
  expect(set.message).toBe('the image "web" cannot have "log"; did you mean logs?')
})

const MANIFESTS: readonly [string, string][] = [
  ["a: [", "line 1"],
  [
    "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n---\napiVersion: v1\nkind: Widget\nmetadata: { " +
      "name: b }\n",
    'line 5: no kind "Widget" is served in "v1"',
  ],
  ["kind: Pod\nmetadata: { name: a }", "apiVersion is missing"],
  ["apiVersion: v1\nkind: Pod", "Pod has no metadata.name"],
  ["apiVersion: v1\nkind: Pod\nmetadata: { name: a }\nspec: { containers: [{ name: a, imagee: b }] }", "imagee"],
  ["apiVersion: v1\nkind: Pod\nmetadata: { name: a }\nspec: { containers: [] }", "spec.containers"],
]

describe("a manifest with a mistake", () => {
  test.each(MANIFESTS)("%j is refused, and the stack trace names the line that applies it", async (text, message) => {
    await using cluster = await startCluster()
    const err = await errorOf(() => cluster.apply(text))
    expect(err.message).toContain(message)
    expect(err.stack).toContain("misuse.test.ts")
  })
})

test.each<[Duration]>([["soon"], ["3 days"], [-1], [Number.NaN], [""]])(
  "a duration %p is refused",
  async (duration) => {
    await using cluster = await startCluster()
    const err = await errorOf(() => cluster.advance(duration))
    expect(err.message).toContain("as a duration")
    expect(err.stack).toContain("misuse.test.ts")
  },
)

test.each<[Duration, number]>([
  ["3d", 259_200_000],
  ["1h30m", 5_400_000],
  ["2w", 1_209_600_000],
  ["1d12h", 129_600_000],
  [250, 250],
  ["1.5s", 1500],
])("a duration %p is %d ms", async (duration, ms) => {
  await using cluster = await startCluster()
  const before = cluster.now.getTime()
  await cluster.advance(duration)
  expect(cluster.now.getTime() - before).toBe(ms)
})

describe("a cluster", () => {
  test("that has been stopped refuses every call with an error that says so", async () => {
    // given
    const cluster = await startCluster()
    const { client } = cluster
    await cluster.stop()
    // when, then
    for (const use of [
      () => cluster.list(Pod),
      () => cluster.advance("1s"),
      () => cluster.apply(web(1)),
      async () => client.list(Pod),
      () => cluster.listen(),
    ]) {
      expect((await errorOf(use)).message).toContain("The cluster has ended")
    }
    await cluster.stop() // a second time is no error
  })

  test("does not move its time back", async () => {
    await using cluster = await startCluster({ startTime: "2026-01-02T00:00:00Z" })
    expect((await errorOf(() => cluster.advanceTo("2026-01-01T00:00:00Z"))).message).toContain(
      ": it is 2026-01-02T00:00:00Z already",
    )
  })

  test("reports a node that does not exist", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    expect((await errorOf(() => cluster.faults.nodeLost("node-7"))).message).toBe(
      'There is no node "node-7": the simulated nodes are node-0',
    )
  })

  test("names a missing object in its error", async () => {
    await using cluster = await startCluster()
    const err = await errorOf(() => cluster.get(Deployment, "nothing"))
    expect(err.message).toBe('deployments.apps "nothing" not found')
    expect(err.stack).toContain("misuse.test.ts")
  })
})

describe("eventually", () => {
  test("prints the last value and the seed at its timeout", async () => {
    // given a check that never holds
    await using cluster = await startCluster({ seed: 77 })
    // when
    const err = await errorOf(() =>
      cluster.eventually(async () => expect(await cluster.list(Pod)).toHaveLength(1), { within: "2m" }),
    )
    // then
    expect(err.message).toContain("Not within 2m0s of virtual time (seed 77 (K3TS_SEED=77 replays it)); last seen:")
    expect(err.message).toContain("Expected length: 1")
    expect(err.stack).toContain("misuse.test.ts")
  })
})

describe("eventually", () => {
  test("prints the objects that it checked, and why pods are not ready", async () => {
    // given a pod that cannot be placed
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(web(1, "huge"))
    await cluster.client.patch(
      Deployment,
      { namespace: "default", name: "web" },
      {
        type: "strategic",
        body: {
          spec: {
            template: { spec: { containers: [{ name: "web", resources: { requests: { cpu: "99" } } }] } },
          },
        },
      },
    )
    // when
    const err = await errorOf(() =>
      cluster.eventually(async () => {
        const pods = await cluster.list(Pod)
        return pods.every(({ status }) => status.phase === "Running")
      }),
    )
    // then
    expect(err.message).toMatch(/Pod default\/web-\S+: Pending/)
    expect(err.message).toContain("Insufficient cpu")
  })

  test.each<[string, (cluster: Cluster) => unknown]>([
    ["undefined", (cluster) => cluster.find(Pod, "none")],
    ["undefined", async (cluster) => (await cluster.list(Pod))[0]?.status.phase?.startsWith("Run")],
    ["a list of 0", (cluster) => cluster.list(Pod)],
    ["null", () => null],
    ["1", () => 1],
    ['"yes"', () => "yes"],
    ["an object (kind, apiVersion, metadata, spec)", (cluster) => cluster.get(Service, "kubernetes")],
  ])("refuses a check that returns %s", async (what, check) => {
    await using cluster = await startCluster()
    const err = await errorOf(() => cluster.eventually(() => check(cluster) as boolean))
    expect(err.message).toContain(`Cannot tell whether the check holds: it returned ${what}.`)
    expect(err.stack).toContain("misuse.test.ts")
  })

  test("accepts checks that assert, that return true, and that succeed after failures", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(web(1))
    const shown = (pods: readonly Pod[]) => expect(pods).toHaveLength(1)
    await cluster.eventually(async () => expect(await cluster.list(Pod)).toHaveLength(1))
    await cluster.eventually(Pod, {}, (pods) => expect(pods).toHaveLength(1))
    await cluster.eventually(async () => (await cluster.list(Pod)).length === 1)
    await cluster.eventually(Pod, {}, (pods) => {
      shown(pods)
      return true
    })
  })

  test("lets virtual time pass up to its timeout when no timer is due", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.advance("1m")
    const began = cluster.now.getTime()
    await errorOf(() => cluster.eventually(() => false, { within: "2m" }))
    expect(cluster.now.getTime() - began).toBe(120_000)
  })
})

describe("a rule of faults", () => {
  test.each<[RequestRule, string]>([
    [{ verb: "craete", error: "Conflict" }, 'No request has the verb "craete": do you mean "create"?'],
    [{ verb: ["get", "lits"], error: "Conflict" }, 'No request has the verb "lits": do you mean "list"?'],
    [{ resource: "pod", error: "Conflict" }, 'No request has the resource "pod": do you mean "pods"?'],
    [{ resource: "Deployment", error: "Conflict" }, 'do you mean "deployments"?'],
    [{ resource: "svc", error: "Conflict" }, 'do you mean "services"?'],
    [{ resource: "confgimaps", error: "Conflict" }, 'do you mean "configmaps"?'],
    [{ resource: "widgets", error: "Conflict" }, 'No request has the resource "widgets"'],
    [{ resource: "pods", subresource: "stauts", error: "Conflict" }, 'do you mean "status"?'],
    [{ resource: "configmaps", subresource: "scale", error: "Conflict" }, 'No request has the subresource "scale"'],
    [{ error: "ServiceUnavailible" as "ServiceUnavailable" }, 'do you mean "ServiceUnavailable"?'],
    [{ verb: "get" }, "Cannot make a rule that does nothing"],
  ])("%j is refused", async (rule, message) => {
    await using cluster = await startCluster()
    const err = await errorOf(() => cluster.faults.requests(rule))
    expect(err).toBeInstanceOf(TestClusterError)
    expect(err.message).toContain(message)
  })

  test("for dropped watches is validated too", async () => {
    await using cluster = await startCluster()
    const drop = async () => cluster.faults.dropWatches({ resource: "pod" })
    expect((await errorOf(drop)).message).toContain('do you mean "pods"?')
  })
})

describe("the end of a cluster", () => {
  test("fails if a watch was left open", async () => {
    const cluster = await startCluster({ seed: 5 })
    cluster.client.watch(ConfigMap, {}, { onEvent() {}, onEnd() {} })
    const err = await errorOf(() => cluster.stop())
    expect(err.message).toContain("seed 5")
    expect(err.message).toContain("a watch was left open: system:admin watches configmaps")
  })

  test("fails if an object has outlived its owner", async () => {
    // given a cluster whose garbage collector has been taken away
    const cluster = await startCluster({ components: { controllers: { disabled: ["garbage-collector-controller"] } } })
    await cluster.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: "orphan",
        ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "0" }],
      },
    })
    // when, then
    expect((await errorOf(() => cluster.stop())).message).toContain(
      "ConfigMap default/orphan is an orphan of Deployment web",
    )
  })
})
