/** The HTTP API: discovery, tables, chunks, watches. Source of the assertions: test/e2e/apimachinery. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster, type Loose } from "./cluster.ts"
import { WANTED } from "./kinds/kinds.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startConformanceCluster()
  await cluster.post("/api/v1/namespaces", { metadata: { name: "m" } })
  await cluster.post("/api/v1/namespaces/m/serviceaccounts", { metadata: { name: "default" } })
})
afterAll(() => cluster.stop())

const CONFIGMAPS = "/api/v1/namespaces/m/configmaps"

test("the response to the deletion of a collection has the objects in their state before, although each changes before it is removed", async () => {
  // given pods, whose generation rises when their deletion begins
  const path = "/api/v1/namespaces/m/pods"
  const labels = { gone: "soon" }
  const spec = { automountServiceAccountToken: false, containers: [{ name: "c", image: "i" }] }
  for (const name of ["one", "two"]) await cluster.post(path, { metadata: { name, labels }, spec })
  // when
  const { items } = (await cluster.ok("DELETE", `${path}?labelSelector=gone%3Dsoon`)) as unknown as {
    items: { metadata: { name: string; generation: number; deletionTimestamp?: string } }[]
  }
  // then
  expect(
    items.map(({ metadata: { name, generation, deletionTimestamp } }) => [name, generation, deletionTimestamp]),
  ).toEqual([
    ["one", 1, undefined],
    ["two", 1, undefined],
  ])
})

describe("discovery", () => {
  test("names a preferred version of each group, which is one of its versions", async () => {
    const { groups } = (await cluster.get("/apis/")) as unknown as { groups: { name: string }[] }
    expect(groups.length).toBeGreaterThan(10)
    for (const { name } of groups) {
      const group = (await cluster.get(`/apis/${name}/`)) as unknown as {
        versions: { groupVersion: string }[]
        preferredVersion: { groupVersion: string }
      }
      expect(group.versions.map(({ groupVersion }) => groupVersion)).toContain(group.preferredVersion.groupVersion)
    }
  })

  test("lists the resources of each group", async () => {
    expect(await cluster.get("/api")).toMatchObject({ kind: "APIVersions", versions: ["v1"] })
    for (const [group, version, resource] of WANTED) {
      const list = (await cluster.get(`/apis/${group}/${version}`)) as unknown as {
        groupVersion: string
        resources: { name: string }[]
      }
      expect(list.groupVersion).toBe(`${group}/${version}`)
      expect(list.resources.map(({ name }) => name)).toContain(resource)
    }
  })

  test("is one document for clients that ask for it", async () => {
    const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    const { items } = (await cluster.ok("GET", "/apis", { accept })) as unknown as {
      items: { metadata: { name: string }; versions: { version: string; resources: { resource: string }[] }[] }[]
    }
    for (const [group, version, resource] of WANTED) {
      const found = items.find(({ metadata }) => metadata.name === group)?.versions.find((v) => v.version === version)
      expect(found?.resources.map((r) => r.resource)).toContain(resource)
    }
    expect(JSON.stringify(await cluster.ok("GET", "/api", { accept }))).toContain('"resource":"namespaces"')
  })

  test("has a version whose major and minor are integers", async () => {
    const { major, minor, gitVersion } = (await cluster.get("/version")) as unknown as Record<string, string>
    expect([major, minor]).toEqual(["1", "36"])
    expect(gitVersion).toStartWith("v1.36.0")
  })
})

describe("tables", () => {
  test("are refused with 406 for a kind that has none", async () => {
    const answer = await cluster.send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
      accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
      body: { spec: { nonResourceAttributes: { path: "/", verb: "get" } } },
    })
    expect([answer.code, answer.body.reason]).toEqual([406, "NotAcceptable"])
  })

  test("are returned in chunks too, and in the requested version", async () => {
    for (const n of [1, 2, 3])
      await cluster.post(CONFIGMAPS, { metadata: { name: `table-${n}`, labels: { table: "yes" } } })
    const get = (query: string) =>
      cluster.ok("GET", `${CONFIGMAPS}?labelSelector=table&${query}`, {
        accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
      })
    const first = await get("limit=2")
    const names = (table: Loose) =>
      (table as unknown as { rows: { cells: unknown[] }[] }).rows.map(({ cells }) => cells[0])
    expect(first).toMatchObject({
      columnDefinitions: [{ name: "Name", type: "string", format: "name" }, { name: "Data" }, { name: "Age" }],
    })
    expect(names(first)).toEqual(["table-1", "table-2"])
    expect(names(await get(`limit=2&continue=${encodeURIComponent(first.metadata.continue!)}`))).toEqual(["table-3"])
    expect((await get("limit=1&includeObject=Object")).rows).toMatchObject([
      { object: { kind: "ConfigMap", apiVersion: "v1" } },
    ])
    expect((await get("limit=1&includeObject=None")).rows).not.toMatchObject([{ object: { kind: "ConfigMap" } }])
  })
})

describe("lists in chunks", () => {
  const TEMPLATES = "/api/v1/namespaces/m/podtemplates"
  const TOTAL = 40
  beforeAll(() =>
    Promise.all(
      Array.from({ length: TOTAL }, (_, n) =>
        cluster.post(TEMPLATES, {
          metadata: { name: `template-${String(n).padStart(4, "0")}` },
          template: { spec: { containers: [{ name: "test", image: "test2" }] } },
        }),
      ),
    ),
  )

  test("show one revision, and say how many items remain", async () => {
    let found = 0
    let token = ""
    let revision: string | undefined
    for (let limit = 3; ; limit = limit * 2) {
      const { metadata, items } = await cluster.get(`${TEMPLATES}?limit=${limit}&continue=${encodeURIComponent(token)}`)
      revision ??= metadata.resourceVersion
      expect(metadata.resourceVersion).toBe(revision)
      for (const item of items) expect(item.metadata.name).toBe(`template-${String(found++).padStart(4, "0")}`)
      expect(metadata.remainingItemCount).toBe(found === TOTAL ? undefined : TOTAL - found)
      if (metadata.continue === undefined) break
      token = metadata.continue
    }
    expect(found).toBe(TOTAL)
    expect((await cluster.get(`${TEMPLATES}?limit=${TOTAL + 1}`)).items).toHaveLength(TOTAL)
  })

  test("expire when history is compacted, and can continue inconsistently", async () => {
    // given a first chunk, and a compaction after it
    const short = await startConformanceCluster()
    try {
      for (const n of [0, 1, 2, 3])
        await short.post("/api/v1/namespaces/default/configmaps", { metadata: { name: `c-${n}` } })
      const path = "/api/v1/namespaces/default/configmaps?limit=2"
      const first = await short.get(path)
      await short.post("/api/v1/namespaces/default/configmaps", { metadata: { name: "c-2b" } })
      short.compact()

      // when the second chunk is requested, then it has expired, with a token that continues
      const expired = await short.send("GET", `${path}&continue=${encodeURIComponent(first.metadata.continue!)}`)
      expect([expired.code, expired.body.reason]).toEqual([410, "Expired"])
      expect(expired.body.message).toContain(
        "The provided continue parameter is too old to display a consistent list result.",
      )
      const second = await short.get(`${path}&continue=${encodeURIComponent(expired.body.metadata.continue!)}`)
      expect(second.items.map(({ metadata }) => metadata.name)).toEqual(["c-2", "c-2b"])
      expect(second.metadata.resourceVersion).not.toBe(first.metadata.resourceVersion)
      const third = await short.get(`${path}&continue=${encodeURIComponent(second.metadata.continue!)}`)
      expect([third.metadata.resourceVersion, third.metadata.continue, third.items.length]).toEqual([
        second.metadata.resourceVersion,
        undefined,
        1,
      ])

      // and a watch from that time has expired too
      const old = await short.send("GET", `/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=1`)
      expect([old.code, JSON.parse(old.text.split("\n")[0]!) as unknown]).toMatchObject([
        200,
        { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", status: "Failure" } },
      ])
    } finally {
      await short.stop()
    }
  })
})

describe("watches", () => {
  const labelled = (value: string) => `${CONFIGMAPS}?labelSelector=watch-this-configmap%3D${value}`
  const types = (events: readonly { type: string }[]) => events.map(({ type }) => type)

  test("send each change to watchers whose selector matches", async () => {
    const [a, b, both] = [
      await cluster.watch(labelled("A")),
      await cluster.watch(labelled("B")),
      await cluster.watch(`${CONFIGMAPS}?labelSelector=watch-this-configmap+in+(A,B)`),
    ]
    await cluster.post(CONFIGMAPS, { metadata: { name: "a", labels: { "watch-this-configmap": "A" } } })
    await cluster.patch(`${CONFIGMAPS}/a`, "merge", { data: { mutation: "1" } })
    await cluster.patch(`${CONFIGMAPS}/a`, "merge", { data: { mutation: "2" } })
    await cluster.delete(`${CONFIGMAPS}/a`)
    await cluster.post(CONFIGMAPS, { metadata: { name: "b", labels: { "watch-this-configmap": "B" } } })
    await cluster.delete(`${CONFIGMAPS}/b`)
    expect(types(await a.until((events) => events.length === 4))).toEqual(["ADDED", "MODIFIED", "MODIFIED", "DELETED"])
    expect(types(await b.until((events) => events.length === 2))).toEqual(["ADDED", "DELETED"])
    await both.until((events) => events.length === 6)
    expect(a.events[3]!.object.data).toEqual({ mutation: "2" })
    for (const watch of [a, b, both]) watch.close()
  })

  test("start at a revision, and resume from the last one seen", async () => {
    const made = await cluster.post(CONFIGMAPS, { metadata: { name: "rv", labels: { "watch-this-configmap": "rv" } } })
    const once = await cluster.patch(`${CONFIGMAPS}/rv`, "merge", { data: { mutation: "1" } })
    await cluster.patch(`${CONFIGMAPS}/rv`, "merge", { data: { mutation: "2" } })
    const from = await cluster.watch(`${labelled("rv")}&resourceVersion=${once.metadata.resourceVersion}`)
    expect((await from.until((events) => events.length === 1))[0]).toMatchObject({
      type: "MODIFIED",
      object: { data: { mutation: "2" } },
    })
    from.close()
    await cluster.delete(`${CONFIGMAPS}/rv`)
    const again = await cluster.watch(`${labelled("rv")}&resourceVersion=${made.metadata.resourceVersion}`)
    const events = await again.until((seen) => seen.length === 3)
    expect(types(events)).toEqual(["MODIFIED", "MODIFIED", "DELETED"])
    expect(Number(events[2]!.object.metadata.resourceVersion)).toBeGreaterThan(
      Number(events[1]!.object.metadata.resourceVersion),
    )
    again.close()
  })

  test("send a deletion when an object stops matching, and an addition when it matches again", async () => {
    const watch = await cluster.watch(labelled("label-changed"))
    await cluster.post(CONFIGMAPS, { metadata: { name: "l", labels: { "watch-this-configmap": "label-changed" } } })
    await cluster.patch(`${CONFIGMAPS}/l`, "merge", { data: { mutation: "1" } })
    await cluster.patch(`${CONFIGMAPS}/l`, "merge", { metadata: { labels: { "watch-this-configmap": "wrong" } } })
    await cluster.patch(`${CONFIGMAPS}/l`, "merge", { data: { mutation: "2" } })
    await cluster.patch(`${CONFIGMAPS}/l`, "merge", {
      metadata: { labels: { "watch-this-configmap": "label-changed" } },
    })
    await cluster.patch(`${CONFIGMAPS}/l`, "merge", { data: { mutation: "3" } })
    await cluster.delete(`${CONFIGMAPS}/l`)
    const events = await watch.until((seen) => seen.length === 6)
    expect(types(events)).toEqual(["ADDED", "MODIFIED", "DELETED", "ADDED", "MODIFIED", "DELETED"])
    expect(events[2]!.object.data).toEqual({ mutation: "1" })
    watch.close()
  })

  test("send the same events in the same order to all watchers", async () => {
    const start = (await cluster.get(CONFIGMAPS)).metadata.resourceVersion
    const watches = [await cluster.watch(`${CONFIGMAPS}?resourceVersion=${start}`)]
    for (let n = 0; n < 30; n++) {
      const name = `order-${n % 5}`
      const existing = await cluster.send("GET", `${CONFIGMAPS}/${name}`)
      if (existing.code === 404) await cluster.post(CONFIGMAPS, { metadata: { name } })
      else if (n % 3 === 0) await cluster.delete(`${CONFIGMAPS}/${name}`)
      else await cluster.put(`${CONFIGMAPS}/${name}`, { ...existing.body, data: { n: String(n) } })
      if (n % 10 === 5) watches.push(await cluster.watch(`${CONFIGMAPS}?resourceVersion=${start}`))
    }
    const orders = await Promise.all(
      watches.map(async (watch) =>
        (await watch.until((events) => events.length >= 30)).map(({ object }) => object.metadata.resourceVersion),
      ),
    )
    for (const order of orders) expect(order).toEqual(orders[0]!)
    for (const watch of watches) watch.close()
  })
})
