/** Testing a custom resource and its operator without a cluster: its schema, its rules and what the operator does. */
import { describe, expect, test } from "bun:test"
import { Deployment, startCluster } from "../../components/cluster/testing/testing.ts"
import { Cache, cacheController, caches } from "./caches.ts"

const web = { metadata: { name: "web" }, spec: { image: "cache:1" } }

describe("a Cache", () => {
  test("gets its defaults, and has the type of its definition", async () => {
    await using cluster = await startCluster({ preload: caches.crd })
    const { spec } = await cluster.client.create(Cache, web)
    const { replicas, memory }: { readonly replicas: number; readonly memory: "small" | "large" } = spec
    expect([replicas, memory]).toEqual([1, "small"])
    // @ts-expect-error: the schema knows no such field
    expect(spec.size).toBeUndefined()
  })

  test("is refused if a field or a rule is violated", async () => {
    await using cluster = await startCluster({ preload: caches.crd })
    const refusal = (spec: object) =>
      cluster.client.create(Cache, { ...web, spec: { ...web.spec, ...spec } }).then(
        () => "",
        (err: Error) => err.message,
      )
    expect(await refusal({ replicas: 11 })).toContain("spec.replicas in body should be less than or equal to 10")
    expect(await refusal({ replicas: 4, memory: "large" })).toContain("there is room for three large caches")
  })

  test("runs as many replicas as its spec says, reports the ready ones, and is deleted with them", async () => {
    // given the operator, and a Cache
    await using cluster = await startCluster({ nodes: 1, preload: caches.crd })
    await cluster.run(cacheController)
    await cluster.client.create(Cache, web)
    await cluster.advance("1m")
    expect((await cluster.get(Cache, "web")).status?.ready).toBe(1)
    // when it is scaled as kubectl scales it
    const patch = { type: "merge", body: { spec: { replicas: 3 } } } as const
    await cluster.client.patch(Cache, "web", patch, { subresource: "scale" })
    await cluster.advance("1m")
    // then
    expect((await cluster.get(Cache, "web")).status?.ready).toBe(3)
    // when it goes
    await cluster.delete(Cache, "web")
    await cluster.advance("1m")
    expect(await cluster.list(Deployment)).toEqual([])
  })
})
