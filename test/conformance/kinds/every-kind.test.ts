/**
 * Every verb on every stored kind, over HTTP: the steps of the conformance tests "should support … API operations", and
 * of the lifecycle tests.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { DeleteOptions } from "../../../pkg/apimachinery/meta.ts"
import {
  decodeProtobuf,
  encodeProtobuf,
  listMessage,
  openEnvelope,
} from "../../../pkg/apimachinery/protobuf/envelope.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { RESOURCES } from "../../../pkg/api/resources.ts"
import { startConformanceCluster, type ConformanceCluster, type Loose } from "../cluster.ts"
import { NAMED_BY_SPEC, SAMPLES } from "./kinds.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startConformanceCluster()
  await cluster.post("/api/v1/namespaces", { metadata: { name: "walk" } })
  await cluster.post("/api/v1/namespaces/walk/serviceaccounts", { metadata: { name: "default" } })
})
afterAll(() => cluster.stop())

const PROTOBUF = "application/vnd.kubernetes.protobuf"
// A sample of these kinds cannot make two objects, so these kinds have tests of their own.
const stored = RESOURCES.filter(({ verbs, kind }) => verbs.includes("update") && !NAMED_BY_SPEC.includes(kind))
const rows = stored.map((resource): [string, Resource] => [`${resource.apiVersion} ${resource.plural}`, resource])

describe("every kind", () => {
  test("that is stored has a sample in this test", () =>
    expect(rows.map(([name]) => name).toSorted()).toEqual(Object.keys(SAMPLES).toSorted()))

  test.each(rows)("is created, read, listed, watched, updated, patched and deleted: %s", async (id, resource) => {
    const { body, status, name = (n) => `walk-${n}`, isTold = false } = SAMPLES[id]!
    const root = `/${resource.group === "" ? "api" : "apis"}/${resource.apiVersion}`
    const all = `${root}/${resource.plural}`
    const namespaced = resource.scope === "Namespaced"
    const collection = namespaced ? `${root}/namespaces/walk/${resource.plural}` : all
    const labels = { walk: `${resource.group}.${resource.plural}`.replace(/^\./, ""), e2e: "yes" }
    const selector = `labelSelector=walk%3D${labels.walk}%2Ce2e%3Dyes`
    const make = (n: number, more: object = {}) => ({
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      metadata: { name: name(n), labels, ...(namespaced ? { namespace: "walk" } : {}), ...more },
      ...body,
    })
    const path = `${collection}/${name(1)}`
    await isDiscovered(resource, status !== undefined)
    const before = await cluster.get(`${collection}?${selector}`)
    expect(before).toMatchObject({ apiVersion: resource.apiVersion, kind: `${resource.kind}List`, items: [] })
    const watch = await cluster.watch(`${collection}?${selector}&resourceVersion=${before.metadata.resourceVersion}`)

    // create it, first as a dry run
    expect((await cluster.send("POST", `${collection}?dryRun=All`, { body: make(1) })).code).toBe(201)
    const posted = await cluster.send("POST", `${collection}?fieldManager=walker&fieldValidation=Strict`, {
      body: make(1),
    })
    expect([posted.code, posted.text.slice(0, posted.code === 201 ? 0 : 1000)]).toEqual([201, ""])
    expect(posted.body).toMatchObject({
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      metadata: { name: name(1), managedFields: [{ manager: "walker", operation: "Update" }] },
    })
    expect([typeof posted.body.metadata.uid, typeof posted.body.metadata.creationTimestamp]).toEqual([
      "string",
      "string",
    ])
    expect((await cluster.send("POST", collection, { body: make(1) })).body).toMatchObject({
      code: 409,
      reason: "AlreadyExists",
    })

    // read it, alone and in lists
    const made = isTold ? await cluster.until(path, (object) => object?.status.conditions !== undefined) : posted.body
    expect(await cluster.get(path)).toEqual(made)
    for (const list of new Set([all, collection])) {
      const { items, metadata } = await cluster.get(`${list}?${selector}`)
      expect(items.map((item) => item.metadata.uid)).toEqual([made.metadata.uid])
      expect(Number(metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(made.metadata.resourceVersion))
    }
    expect((await cluster.get(`${collection}?fieldSelector=metadata.name%3D${name(1)}`)).items).toHaveLength(1)

    // read it in every encoding
    const binary = await cluster.send("GET", path, { accept: PROTOBUF })
    expect(binary.headers["content-type"]).toBe(PROTOBUF)
    const envelope = openEnvelope(binary.bytes)
    expect(
      JSON.parse(JSON.stringify(decodeObject(resource, decodeProtobuf(resource.schema, envelope.raw)).object)) as Loose,
    ).toEqual(made)
    expect((await cluster.send("GET", path, { accept: "application/yaml" })).text).toContain(`kind: ${resource.kind}\n`)
    const table = (
      await cluster.send("GET", `${collection}?${selector}`, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" })
    ).body
    expect(table).toMatchObject({
      kind: "Table",
      apiVersion: "meta.k8s.io/v1",
      rows: [{ object: { kind: "PartialObjectMetadata", metadata: { name: name(1) } } }],
    })
    const { columnDefinitions, rows: lines } = table as Loose & {
      columnDefinitions: object[]
      rows: { cells: unknown[] }[]
    }
    expect(lines[0]!.cells).toHaveLength(columnDefinitions.length)
    expect(
      (
        await cluster.send("GET", `${collection}?${selector}`, {
          accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        })
      ).body,
    ).toMatchObject({ kind: "PartialObjectMetadataList", items: [{ metadata: { name: name(1) } }] })

    // update it; a stale revision conflicts
    const updated = await cluster.put(path, {
      ...made,
      metadata: { ...made.metadata, annotations: { updated: "true" } },
    })
    expect(updated.metadata.annotations).toMatchObject({ updated: "true" })
    expect(
      (
        await cluster.send("PUT", path, {
          body: { ...made, metadata: { ...made.metadata, annotations: { late: "true" } } },
        })
      ).body,
    ).toMatchObject({ code: 409, reason: "Conflict" })
    expect(
      (await cluster.send("PUT", path, { body: { ...updated, metadata: { ...updated.metadata, name: name(9) } } }))
        .code,
    ).toBe(400)

    // patch it with all four types of patches
    await cluster.patch(path, "merge", { metadata: { annotations: { merged: "true" } } })
    await cluster.patch(path, "strategic", { metadata: { annotations: { strategic: "true" } } })
    await cluster.patch(path, "json", [{ op: "add", path: "/metadata/annotations/json", value: "true" }])
    const applied = await cluster.patch(`${path}?fieldManager=applier`, "apply", {
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      metadata: { name: name(1), annotations: { applied: "true" } },
    })
    expect(applied.metadata.annotations).toEqual({
      ...made.metadata.annotations,
      updated: "true",
      merged: "true",
      strategic: "true",
      json: "true",
      applied: "true",
    })
    expect(applied.metadata.managedFields).toContainEqual(
      expect.objectContaining({ manager: "applier", operation: "Apply" }),
    )
    const { metadata: _ours, ...content } = applied
    const { metadata: _theirs, ...original } = made
    expect(content).toEqual(original)

    // write its status subresource
    if (status !== undefined) {
      const merged = await cluster.patch(`${path}/status`, "merge", {
        metadata: { annotations: { statusPatched: "true" } },
        status,
      })
      expect(merged.status).toMatchObject(status)
      expect(await cluster.get(`${path}/status`)).toEqual(merged)
      expect((await cluster.put(path, { ...merged, status: {} })).status).toEqual(merged.status)
      expect(
        (
          await cluster.put(`${path}/status`, {
            ...merged,
            metadata: { ...(await cluster.get(path)).metadata, labels: { ...labels, ignored: "no" } },
          })
        ).status,
      ).toEqual(merged.status)
      await cluster.patch(`${path}/status`, "strategic", { status })
      await cluster.patch(`${path}/status`, "json", [{ op: "test", path: "/kind", value: resource.kind }])
      const again = await cluster.patch(`${path}/status?fieldManager=statuses&force=true`, "apply", {
        apiVersion: resource.apiVersion,
        kind: resource.kind,
        metadata: { name: name(1) },
        status,
      })
      expect(again.status).toMatchObject(status)
      expect(again.metadata.managedFields).toContainEqual(
        expect.objectContaining({ manager: "statuses", operation: "Apply", subresource: "status" }),
      )
      expect(again.spec).toEqual(made.spec)
    } else expect((await cluster.send("GET", `${path}/status`)).code).toBe(404)

    // delete it, if the preconditions name it
    expect((await cluster.send("DELETE", path, { body: { preconditions: { uid: "other" } } })).body).toMatchObject({
      code: 409,
      reason: "Conflict",
    })
    await remove(path)
    const seen = (await watch.until((events) => events.some(({ type }) => type === "DELETED"))).map(({ type }) => type)
    watch.close()
    expect([seen[0], new Set(seen.slice(1, -1)), seen.at(-1)]).toEqual(["ADDED", new Set(["MODIFIED"]), "DELETED"])

    // create two from YAML and protobuf, and delete them as a collection
    expect(
      (await cluster.send("POST", collection, { type: "application/yaml", body: JSON.stringify(make(2)) })).code,
    ).toBe(201)
    const { object } = decodeObject(resource, make(3))
    const made3 = await cluster.send("POST", collection, {
      type: PROTOBUF,
      accept: `${PROTOBUF},application/json`,
      body: encodeProtobuf(resource.schema, object, resource),
    })
    expect([made3.code, made3.headers["content-type"]]).toEqual([201, PROTOBUF])
    const first = await cluster.get(`${collection}?${selector}&limit=1`)
    expect([first.items.length, first.metadata.continue === undefined]).toEqual([1, false])
    expect(
      (
        await cluster.get(`${collection}?${selector}&limit=1&continue=${encodeURIComponent(first.metadata.continue!)}`)
      ).items.map((item) => item.metadata.name),
    ).toEqual([name(3)])
    const lists = await cluster.send("GET", `${collection}?${selector}`, { accept: PROTOBUF })
    const { items } = decodeProtobuf(listMessage(resource.schema), openEnvelope(lists.bytes).raw) as {
      items: { metadata: { name: string } }[]
    }
    expect([openEnvelope(lists.bytes).kind, items.map(({ metadata }) => metadata.name)]).toEqual([
      `${resource.kind}List`,
      [name(2), name(3)],
    ])
    const third = decodeObject(resource, decodeProtobuf(resource.schema, openEnvelope(made3.bytes).raw)).object
    const { resourceVersion } = isTold
      ? (await cluster.until(`${collection}/${name(3)}`, (object) => object?.status.conditions !== undefined)).metadata
      : third.metadata
    const put = await cluster.send("PUT", `${collection}/${name(3)}`, {
      type: PROTOBUF,
      accept: PROTOBUF,
      body: encodeProtobuf(
        resource.schema,
        { ...third, metadata: { ...third.metadata, resourceVersion, annotations: { binary: "true" } } },
        resource,
      ),
    })
    expect([put.code, openEnvelope(put.bytes).kind]).toEqual([200, resource.kind])
    const options = encodeProtobuf(
      DeleteOptions,
      { gracePeriodSeconds: 0 },
      { apiVersion: resource.apiVersion, kind: "DeleteOptions" },
    )
    if (resource.verbs.includes("deletecollection"))
      expect((await cluster.send("DELETE", `${collection}?${selector}`, { type: PROTOBUF, body: options })).code).toBe(
        200,
      )
    else {
      expect((await cluster.send("DELETE", `${collection}?${selector}`)).code).toBe(405)
      for (const n of [2, 3]) await remove(`${collection}/${name(n)}`)
    }
    for (const { metadata } of (await cluster.get(`${collection}?${selector}`)).items) {
      expect(metadata.deletionTimestamp).toBeTruthy()
      await cluster.patch(`${collection}/${metadata.name}`, "merge", { metadata: { finalizers: null } })
    }
    expect((await cluster.get(`${collection}?${selector}`)).items).toEqual([])
  })

  /** Checks that discovery lists its group, version and resource, and its status if it has one. */
  async function isDiscovered({ group, apiVersion, plural, kind, scope, verbs }: Resource, hasStatus: boolean) {
    if (group !== "") {
      const { groups } = (await cluster.get("/apis")) as unknown as { groups: { name: string }[] }
      expect(groups.map(({ name }) => name)).toContain(group)
      expect(JSON.stringify(await cluster.get(`/apis/${group}`))).toContain(`"groupVersion":"${apiVersion}"`)
    }
    const { resources } = (await cluster.get(`/${group === "" ? "api" : "apis"}/${apiVersion}`)) as unknown as {
      resources: { name: string; kind: string; namespaced: boolean; verbs: string[] }[]
    }
    const found = resources.find(({ name }) => name === plural)
    expect(found).toMatchObject({ kind, namespaced: scope === "Namespaced" })
    expect(found!.verbs.toSorted()).toEqual([...verbs].toSorted())
    expect(resources.some(({ name }) => name === `${plural}/status`)).toBe(hasStatus)
  }

  /** Deletes an object, and does what controllers would do afterwards, since none run here. */
  async function remove(path: string): Promise<void> {
    await cluster.delete(path, { gracePeriodSeconds: 0 })
    const left = await cluster.send("GET", path)
    if (left.code === 404) return
    if (left.body.kind === "Namespace") await cluster.put(`${path}/finalize`, { ...left.body, spec: {} })
    else await cluster.patch(path, "merge", { metadata: { finalizers: null } })
    expect((await cluster.send("GET", path)).code).toBe(404)
  }
})
