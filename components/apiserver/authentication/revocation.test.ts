import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { CONFIGMAPS, json, startHttpServer } from "../serving/http-server.fixtures.ts"

let api: Awaited<ReturnType<typeof startHttpServer>>
beforeAll(async () => {
  api = await startHttpServer()
})
afterAll(() => api.stop())

const NAMESPACE = "/api/v1/namespaces/default"
const RBAC = "/apis/rbac.authorization.k8s.io/v1"
const roleRef = (kind: string, name: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name })

async function created(path: string, object: object): Promise<{ readonly metadata: { readonly uid: string } }> {
  const { code, text } = await api.call("POST", path, json(object))
  expect({ code, text }).toMatchObject({ code: 201 })
  return JSON.parse(text) as { readonly metadata: { readonly uid: string } }
}

const removed = async (path: string) =>
  expect(await api.call("DELETE", `${path}?gracePeriodSeconds=0`)).toMatchObject({ code: 200 })

/** Makes an account that may read ConfigMaps, unless told otherwise, and returns a token of it. */
async function tokenOf(account: string, bound?: object): Promise<string> {
  const { text } = await api.call(
    "POST",
    `${NAMESPACE}/serviceaccounts/${account}/token`,
    json({ spec: { expirationSeconds: 3600, ...(bound && { boundObjectRef: bound }) } }),
  )
  return (JSON.parse(text) as { readonly status: { readonly token: string } }).status.token
}

async function readerAccount(name: string): Promise<void> {
  await created(`${NAMESPACE}/serviceaccounts`, { metadata: { name } })
  await created(`${RBAC}/namespaces/default/rolebindings`, {
    metadata: { name },
    roleRef: roleRef("ClusterRole", "view"),
    subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
  })
}

const codeOf = async (token: string) => (await api.call("GET", CONFIGMAPS, { token })).code

/** Asks often enough that everything is cached that may be. */
async function isServed(token: string): Promise<void> {
  for (let i = 0; i < 3; i++) expect(await codeOf(token)).toBe(200)
}

describe("a token that was used before is refused by the first request after", () => {
  test("its service account was deleted, and also when there is another of that name", async () => {
    await readerAccount("leaver")
    const token = await tokenOf("leaver")
    await isServed(token)
    // when
    await removed(`${NAMESPACE}/serviceaccounts/leaver`)
    // then
    expect(await codeOf(token)).toBe(401)
    // and
    await created(`${NAMESPACE}/serviceaccounts`, { metadata: { name: "leaver" } })
    expect(await codeOf(token)).toBe(401)
    await isServed(await tokenOf("leaver"))
  })

  test.each([
    {
      kind: "Pod",
      path: `${NAMESPACE}/pods`,
      spec: { serviceAccountName: "bound-pod", containers: [{ name: "c", image: "i" }] },
    },
    { kind: "Secret", path: `${NAMESPACE}/secrets` },
    { kind: "Node", path: "/api/v1/nodes" },
  ])("the $kind that it is bound to was deleted", async ({ kind, path, spec }) => {
    const name = `bound-${kind.toLowerCase()}`
    await readerAccount(name)
    const { metadata } = await created(path, { metadata: { name }, ...(spec && { spec }) })
    const token = await tokenOf(name, { apiVersion: "v1", kind, name, uid: metadata.uid })
    await isServed(token)
    // when
    await removed(`${path}/${name}`)
    // then
    expect(await codeOf(token)).toBe(401)
  })
})

describe("a request that was allowed before is forbidden to the first one after", () => {
  test.each(["deleted", "changed"])("the role binding was %s", async (how) => {
    const name = `unbound-${how}`
    await readerAccount(name)
    const token = await tokenOf(name)
    await isServed(token)
    // when
    const path = `${RBAC}/namespaces/default/rolebindings/${name}`
    if (how === "deleted") await removed(path)
    else
      await api.call("PATCH", path, {
        headers: { "content-type": "application/merge-patch+json" },
        body: JSON.stringify({ subjects: [] }),
      })
    // then
    expect(await codeOf(token)).toBe(403)
  })

  test.each(["deleted", "changed"])("the role was %s", async (how) => {
    // given an account with a role of its own
    const name = `role-${how}`
    const path = `${RBAC}/namespaces/default/roles`
    await created(`${NAMESPACE}/serviceaccounts`, { metadata: { name } })
    await created(path, {
      metadata: { name },
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }],
    })
    await created(`${RBAC}/namespaces/default/rolebindings`, {
      metadata: { name },
      roleRef: roleRef("Role", name),
      subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
    })
    const token = await tokenOf(name)
    await isServed(token)
    // when
    if (how === "deleted") await removed(`${path}/${name}`)
    else
      await api.call("PUT", `${path}/${name}`, {
        ...json({ metadata: { name }, rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["list"] }] }),
      })
    // then
    expect(await codeOf(token)).toBe(403)
  })
})
