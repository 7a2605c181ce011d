import { describe, expect, test } from "bun:test"
import { changesBetween } from "../../../../pkg/history/changes.ts"
import { web } from "../cluster.fixtures.ts"
import {
  ConfigMap,
  Deployment,
  Pod,
  startCluster,
  TestClusterError,
  type Cluster,
  type HistoryFilter,
} from "../testing.ts"

const CHANGES: readonly { what: string; before: unknown; after: unknown; told: readonly string[] }[] = [
  { what: "nothing", before: { a: 1 }, after: { a: 1 }, told: [] },
  {
    what: "a changed value",
    before: { spec: { a: 1, b: 2 } },
    after: { spec: { a: 3, b: 2 } },
    told: ["spec.a: 1 → 3"],
  },
  {
    what: "an added and a removed field",
    before: { spec: { a: 1 } },
    after: { spec: { b: { c: "d" } } },
    told: ['spec.b: nothing → {"c":"d"}', "spec.a: 1 → nothing"],
  },
  {
    what: "conditions in another order",
    before: {
      conditions: [
        { type: "A", status: "True" },
        { type: "B", status: "True" },
      ],
    },
    after: {
      conditions: [
        { type: "B", status: "False" },
        { type: "A", status: "True" },
      ],
    },
    told: ['conditions[B].status: "True" → "False"'],
  },
  {
    what: "a list whose items have no keys",
    before: { args: ["a", "b"] },
    after: { args: ["a", "c", "d"] },
    told: ['args[1]: "b" → "c"', 'args[2]: nothing → "d"'],
  },
  {
    what: "no fields that differ at every write",
    before: { metadata: { resourceVersion: "1", managedFields: [1] } },
    after: { metadata: { resourceVersion: "2", managedFields: [2] } },
    told: [],
  },
]

test.each(CHANGES)("a diff shows $what", ({ before, after, told }) => {
  expect(changesBetween(before, after).map(String)).toEqual([...told])
})

/** A cluster with a ConfigMap that another user changes a minute later, and that is deleted at the end. */
async function withWrites(): Promise<Cluster> {
  const cluster = await startCluster()
  await cluster.client.create(ConfigMap, { metadata: { name: "a" }, data: { size: "1" } })
  await cluster.advance("1m")
  const alice = cluster.as("alice", ["system:masters"])
  await alice.patch(ConfigMap, "a", { type: "merge", body: { data: { size: "2", extra: "x" } } })
  await cluster.delete(ConfigMap, "a")
  return cluster
}

describe("history", () => {
  const FILTERS: readonly { filter: HistoryFilter; types: readonly string[] }[] = [
    { filter: {}, types: ["create", "update", "delete"] },
    { filter: { type: "update" }, types: ["update"] },
    { filter: { author: "alice" }, types: ["update"] },
    { filter: { since: "2026-01-01T00:01:00Z" }, types: ["update", "delete"] },
    { filter: { since: new Date("2026-01-01T00:01:00.001Z") }, types: [] },
    { filter: { namespace: "other" }, types: [] },
    { filter: { type: "delete", author: "alice" }, types: [] },
  ]
  test.each(FILTERS)("filtered by $filter gives $types", async ({ filter, types }) => {
    await using cluster = await withWrites()
    expect(cluster.history({ kind: "ConfigMap", name: "a", ...filter }).map(({ type }): string => type)).toEqual([
      ...types,
    ])
  })

  test("prints each entry in one line, with what it changed", async () => {
    await using cluster = await withWrites()
    const [made, changed, deleted] = cluster.history({ kind: "ConfigMap", name: "a" })
    expect(String(changed)).toBe(`${changed!.revision} 2026-01-01T00:01:00.000000Z alice update ConfigMap default/a`)
    expect(changed!.diff().map(String)).toEqual(['data.size: "1" → "2"', 'data.extra: nothing → "x"'])
    expect(made!.diff().map(({ path }) => path)).toContain("data")
    expect(deleted!.diff().every(({ after }) => after === undefined)).toBe(true)
    expect(deleted!.diff(made).map(({ path }) => path)).toEqual(["data.size", "data.extra"])
  })

  test("prints the state of a Deployment", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(web(2))
    await cluster.waitFor(Deployment, "web", "condition=Available")
    const last = cluster.history({ kind: "Deployment", name: "web" }).at(-1)
    expect(String(last)).toContain(
      "system:serviceaccount:kube-system:deployment-controller update Deployment default/web: 2 of 2 ready",
    )
  })

  test("refuses a kind that does not exist", async () => {
    await using cluster = await startCluster()
    expect(() => cluster.history({ kind: "Deploymnet" })).toThrow('do you mean "Deployment"?')
  })
})

describe("explain", () => {
  test.each([2, 4])("prints correct counts after a container has ended %d times", async (times) => {
    // given an image that fails, and counts how often it was run
    let runs = 0
    await using cluster = await startCluster({
      nodes: 1,
      images: { "example.com/bad": { run: async () => ((runs += 1), 1) } },
    })
    await cluster.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "bad" },
      spec: { containers: [{ name: "c", image: "example.com/bad" }] },
    })
    // when it waits for its next run
    await cluster.eventually(
      Pod,
      {},
      ([pod]) => {
        const [status] = pod?.status.containerStatuses ?? []
        return runs === times && status?.state.waiting?.reason === "CrashLoopBackOff"
      },
      { within: "10m" },
    )
    // then
    const why = String(await cluster.explain("bad"))
    expect(why).toContain("container c ended with exit code 1")
    expect(why).toContain(`it was started ${times} times`)
  })
})

describe("errors", () => {
  const REASONS: readonly { reason: string; run: (cluster: Cluster) => Promise<unknown> }[] = [
    { reason: "Invalid", run: (cluster) => cluster.advance("soon") },
    { reason: "Timeout", run: (cluster) => cluster.eventually(() => false) },
    { reason: "Timeout", run: (cluster) => cluster.waitFor(Pod, "solo", "create") },
    {
      reason: "Stopped",
      run: async (cluster) => {
        await cluster.stop()
        return cluster.list(Pod)
      },
    },
  ]
  test.each(REASONS)("have the reason $reason", async ({ run, reason }) => {
    await using cluster = await startCluster()
    const err = await run(cluster).catch((thrown: unknown) => thrown)
    expect(err).toBeInstanceOf(TestClusterError)
    expect(err).toHaveProperty("reason", reason)
  })

  test("of refused requests have the API server's reason", async () => {
    await using cluster = await startCluster()
    const apply = (object: object) =>
      cluster
        .apply({ apiVersion: "v1", kind: "ConfigMap", ...object })
        .catch((thrown: unknown) => thrown as TestClusterError)
    expect(await apply({ metadata: { name: "a", namespace: "none" } })).toHaveProperty("reason", "NotFound")
    expect(await apply({ metadata: { name: "-" } })).toHaveProperty("reason", "Invalid")
  })
})
