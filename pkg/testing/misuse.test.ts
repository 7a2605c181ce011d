import { describe, expect, test } from "bun:test"
import { web } from "./cluster.fixtures.ts"
import {
  ConfigMap,
  Deployment,
  Pod,
  startCluster,
  TestClusterError,
  type ClusterOptions,
  type Duration,
} from "./testing.ts"

/** What `run` throws. */
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
  [{ nodes: [{ name: "a" }, { name: "a" }] }, 'two nodes named "a"'],
  [{ nodes: [{ capacity: { memory: "lots" } }] }, 'memory "lots": expected a quantity'],
  [{ seed: 1.5 }, "Cannot use seed 1.5"],
  [{ startTime: "yesterday" }, 'Cannot use "yesterday" as a time'],
  [{ preload: "no/such/file.yaml" }, "there is no such file"],
]

test.each(OPTIONS)("options %j are refused", async (options, message) => {
  const err = await errorOf(() => startCluster(options))
  expect(err).toBeInstanceOf(TestClusterError)
  expect(err.message).toContain(message)
  expect(err.stack).toContain("misuse.test.ts")
})

const MANIFESTS: readonly [string, string][] = [
  ["a: [", "line 1"],
  [
    "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n---\napiVersion: v1\nkind: Widget\nmetadata: { name: b }\n",
    'line 5: no kind "Widget" is served in "v1"',
  ],
  ["kind: Pod\nmetadata: { name: a }", "apiVersion is missing"],
  ["apiVersion: v1\nkind: Pod", "Pod has no metadata.name"],
  ["apiVersion: v1\nkind: Pod\nmetadata: { name: a }\nspec: { containers: [{ name: a, imagee: b }] }", "imagee"],
  ["apiVersion: v1\nkind: Pod\nmetadata: { name: a }\nspec: { containers: [] }", "spec.containers"],
]

describe("a manifest that is wrong", () => {
  test.each(MANIFESTS)("%j is refused at the line that applies it", async (text, message) => {
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
  test("that has ended says so to whoever uses it", async () => {
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

  test("does not go back in time", async () => {
    await using cluster = await startCluster({ startTime: "2026-01-02T00:00:00Z" })
    expect((await errorOf(() => cluster.advanceTo("2026-01-01T00:00:00Z"))).message).toContain(
      "Cannot go back in time: it is 2026-01-02T00:00:00Z",
    )
  })

  test("has no such node", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    expect((await errorOf(() => cluster.faults.nodeLost("node-7"))).message).toBe(
      'There is no node "node-7": the simulated nodes are node-0',
    )
  })

  test("tells at a missing object which", async () => {
    await using cluster = await startCluster()
    const err = await errorOf(() => cluster.get(Deployment, "nothing"))
    expect(err.message).toBe('deployments.apps "nothing" not found')
    expect(err.stack).toContain("misuse.test.ts")
  })
})

describe("eventually", () => {
  test("says what was last seen, and the seed, when its time is up", async () => {
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

describe("the end", () => {
  test("finds a watch that was left open", async () => {
    const cluster = await startCluster({ seed: 5 })
    cluster.client.watch(ConfigMap, {}, { onEvent() {}, onEnd() {} })
    const err = await errorOf(() => cluster.stop())
    expect(err.message).toContain("seed 5")
    expect(err.message).toContain("a watch was left open: system:admin watches configmaps")
  })

  test("finds an object that outlived its owner", async () => {
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
