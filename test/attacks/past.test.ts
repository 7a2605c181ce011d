/** Requests for the past that read or break what their sender may not, or fill the memory of the server. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { nextTurn } from "../../pkg/clock/next-turn.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, makeIdentities, NODE } from "./identities.ts"
import { CORE, makeNodeObjects, selecting } from "./node-objects.ts"

let server: TestServer
let identities: Identities

beforeAll(async () => {
  server = await startServer()
  identities = await makeIdentities(server)
  await makeNodeObjects(identities)
})
afterAll(async () => {
  identities[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

const read = async (who: "node" | "administrator", path: string) => {
  const { status, body } = await identities[who].request("GET", path)
  return { status, text: body.toString() }
}

test("a node whose right to list is limited to a selector gets no history of other objects", async () => {
  for (const path of ["/api/v1/pods", `${CORE}/pods`]) {
    // given a list that the node may read since it selects the pods of the node
    const selected = `${path}?${selecting("spec.nodeName", NODE)}`
    expect((await read("node", selected)).status).toBe(200)
    // then its past has these pods alone, and there is no history of such a list
    const past = await read("node", `/k3ts/at/now${selected}`)
    expect([past.status, past.text.includes('"there"')]).toEqual([200, false])
    expect((await read("node", `/k3ts/history${selected}`)).status).toBe(400)
    expect((await read("node", `/k3ts/history${path}`)).status).toBe(403)
  }
  expect((await read("administrator", "/k3ts/history/api/v1/pods?labelSelector=a")).status).toBe(400)
})

test("a history of large objects comes in answers of a bounded size", async () => {
  // given 40 states of 1 MB
  const send = (method: string, path: string, value: string) =>
    identities.administrator.request(method, path, { body: { metadata: { name: "large" }, data: { value } } })
  await send("POST", `${CORE}/configmaps`, "0")
  for (let i = 1; i <= 40; i++)
    expect((await send("PUT", `${CORE}/configmaps/large`, `${i} ${"x".repeat(1_000_000)}`)).status).toBe(200)
  // when they are read with their objects, from the newest on
  const seen: string[] = []
  for (let until = "", more = true; more;) {
    const { status, text } = await read(
      "administrator",
      `/k3ts/history${CORE}/configmaps/large?objects=true&limit=1000${until}`,
    )
    expect(status).toBe(200)
    // then no answer is much larger than the bound
    expect(text.length).toBeLessThan(24 * 2 ** 20)
    const page = JSON.parse(text) as {
      more: boolean
      entries: { revision: number; object: { data: { value: string } } }[]
    }
    seen.unshift(...page.entries.map(({ object }) => object.data.value.split(" ", 1)[0]!))
    more = page.more
    until = `&until=${page.entries[0]!.revision - 1}`
  }
  // and together they have every state once
  expect(seen).toEqual(Array.from({ length: 41 }, (_, i) => String(i)))
}, 30_000)

test("a list of the past at one more revision is refused as too old", async () => {
  const { status } = await read(
    "administrator",
    "/k3ts/at/now/api/v1/pods?resourceVersion=1&resourceVersionMatch=Exact",
  )
  expect(status).toBe(410)
})

test("why something is not well is not answered for a moment of the past by what is now", async () => {
  for (const path of ["", "/pod/there?namespace=default"])
    expect((await read("administrator", `/k3ts/at/now/k3ts/why${path}`)).status).toBe(405)
})

const MANAGER = { manager: "x", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1" }
test.each([{ "f:data": 5 }, { "k:{bad": {} }, "text"])(
  "malformed owners of fields (%j) are not restored, so that others can apply the object",
  async (fieldsV1) => {
    const { administrator } = identities
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "owned" }, data: { a: "1" } }
    const body = { ...object, metadata: { name: "owned", managedFields: [{ ...MANAGER, fieldsV1 }] } }
    const entries = async () => {
      const { text } = await read("administrator", `${CORE}/configmaps/owned`)
      const { metadata } = JSON.parse(text) as { metadata: { managedFields?: { manager: string }[] } }
      return metadata.managedFields?.map(({ manager }) => manager)
    }
    const restore = async (method: string, path: string, code: number) =>
      expect((await administrator.request(method, `/k3ts/restore${CORE}/${path}`, { body })).status).toBe(code)
    // when such owners are sent with a new object, and then with one that has an owner
    await restore("POST", "configmaps", 201)
    expect(await entries()).toBeUndefined()
    const apply = (manager: string) =>
      administrator.request("PATCH", `${CORE}/configmaps/owned?fieldManager=${manager}`, {
        headers: { "content-type": "application/apply-patch+yaml" },
        body: JSON.stringify(object),
      })
    expect((await apply("one")).status).toBe(200)
    const before = await entries()
    await restore("PUT", "configmaps/owned", 200)
    // then the object has those of before
    expect(await entries()).toEqual(before)
    expect((await apply("two")).status).toBe(200)
    await administrator.request("DELETE", `${CORE}/configmaps/owned`)
  },
)

test("who may write the status of an object does not restore the owners of its fields", async () => {
  const { status } = await identities.administrator.request("PUT", `/k3ts/restore${CORE}/pods/there/status`, {
    body: { metadata: { name: "there", managedFields: [{ ...MANAGER, fieldsV1: { "f:spec": {} } }] } },
  })
  expect(status).toBe(405)
})

test("the editor of a namespace that was deleted and made again reads nothing of the earlier one", async () => {
  // given a Secret in a namespace
  const { administrator, namespaceAdmin } = identities
  const made = async (path: string, body: object) => {
    const { status, body: answer } = await administrator.request("POST", path, { body })
    expect(status).toBe(201)
    return JSON.parse(answer.toString()) as { metadata: { resourceVersion: string } }
  }
  const inside = "/api/v1/namespaces/former"
  await made("/api/v1/namespaces", { metadata: { name: "former" } })
  const { metadata } = await made(`${inside}/secrets`, { metadata: { name: "key" }, stringData: { of: "the former" } })
  const then = `/k3ts/at/${metadata.resourceVersion}`
  // when it is deleted, and somebody else gets a namespace of the same name
  await administrator.request("DELETE", inside)
  while ((await administrator.request("GET", inside)).status !== 404) await nextTurn(realClock)
  await made("/api/v1/namespaces", { metadata: { name: "former" } })
  await made("/apis/rbac.authorization.k8s.io/v1/namespaces/former/rolebindings", {
    metadata: { name: "new-owner" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "admin" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: namespaceAdmin.user }],
  })
  await made(`${inside}/secrets`, { metadata: { name: "key" }, stringData: { of: "the present" } })
  const get = async (who: typeof administrator, path: string) => {
    const { status, body } = await who.request("GET", path)
    return [status, body.toString().includes(btoa("the former")), body.toString().includes(btoa("the present"))]
  }
  // then the new one reads what was since
  for (const path of [`${inside}/secrets`, `${inside}/secrets/key`]) {
    expect(await get(namespaceAdmin, `/k3ts/at/now${path}`)).toEqual([200, false, true])
    expect(await get(namespaceAdmin, `${then}${path}`)).toEqual([403, false, false])
    expect(await get(namespaceAdmin, `/k3ts/history${path}?objects=true`)).toEqual([200, false, true])
    // and the administrator everything
    expect(await get(administrator, `${then}${path}`)).toEqual([200, true, false])
    expect(await get(administrator, `/k3ts/history${path}?objects=true`)).toEqual([200, true, true])
  }
  // and the same for the history of all kinds
  await made("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
    metadata: { name: "history" },
    rules: [{ nonResourceURLs: ["/k3ts/history"], verbs: ["get"] }],
  })
  await made("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "history" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "history" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: namespaceAdmin.user }],
  })
  const all = "/k3ts/history?namespace=former&objects=true"
  expect(await get(namespaceAdmin, all)).toEqual([200, false, true])
  expect(await get(administrator, all)).toEqual([200, true, true])
})
