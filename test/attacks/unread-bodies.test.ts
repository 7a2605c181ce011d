import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { connect as connectHttp2 } from "node:http2"
import { connect as connectTls, type TLSSocket } from "node:tls"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, makeIdentities, NAMESPACE } from "./identities.ts"

let server: TestServer
let identities: Identities
beforeAll(async () => {
  server = await startServer()
  identities = await makeIdentities(server)
})
afterAll(async () => {
  identities[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

interface Written {
  readonly method: string
  readonly path: string
}

const METHODS: Readonly<Record<string, { readonly method: string; readonly named: boolean }>> = {
  create: { method: "POST", named: false },
  update: { method: "PUT", named: true },
  patch: { method: "PATCH", named: true },
  delete: { method: "DELETE", named: true },
  deletecollection: { method: "DELETE", named: false },
}
/** Everybody who is authenticated may create these: a Role of the cluster, `system:basic-user`, says so. */
const FOR_EVERYBODY: readonly string[] = ["selfsubjectaccessreviews", "selfsubjectreviews", "selfsubjectrulesreviews"]

/** Every request with a body that discovery tells of: each verb that writes, of each resource and subresource. */
async function everyWrite(): Promise<readonly Written[]> {
  const json = async <T>(path: string) => JSON.parse((await server.get(path)).body.toString()) as T
  const { groups } = await json<{ groups: { versions: { groupVersion: string }[] }[] }>("/apis")
  const roots = [
    "/api/v1",
    ...groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => `/apis/${groupVersion}`)),
  ]
  const lists = await Promise.all(
    roots.map(async (root) => ({
      root,
      ...(await json<{ resources: { name: string; namespaced: boolean; verbs: string[] }[] }>(root)),
    })),
  )
  return lists.flatMap(({ root, resources }) =>
    resources.flatMap(({ name, namespaced, verbs }) => {
      const [plural = "", subresource] = name.split("/")
      return verbs.flatMap((verb): Written[] => {
        const known = METHODS[verb]
        // Streams read no body before they are connected.
        if (known === undefined || FOR_EVERYBODY.includes(plural) || subresource === "proxy") return []
        const parts = [
          root,
          ...(namespaced ? ["namespaces", NAMESPACE] : []),
          plural,
          ...(known.named || subresource !== undefined ? ["some"] : []),
          ...(subresource === undefined ? [] : [subresource]),
        ]
        return [{ method: known.method, path: parts.join("/") }]
      })
    }),
  )
}

/** The first line of the answer to a request whose head announces a body that never comes. */
async function answerToHead({ method, path }: Written): Promise<string> {
  const socket: TLSSocket = connectTls({
    host: "127.0.0.1",
    port: server.port,
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
    ...identities.outsider.tls,
  })
  await once(socket, "secureConnect")
  socket.write(
    `${method} ${path} HTTP/1.1\r\nHost: k3ts\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n`,
  )
  const [bytes] = (await once(socket, "data")) as [Buffer]
  socket.destroy()
  return `${method} ${path}: ${bytes.toString().split("\r\n", 1)[0]!}`
}

describe("a user without rights who sends the head of a request and no body", () => {
  test("is refused at once, whatever the verb, resource and subresource", async () => {
    // given
    const writes = await everyWrite()
    expect(writes.length).toBeGreaterThan(200)

    // when
    const answers: string[] = []
    for (let i = 0; i < writes.length; i += 20)
      answers.push(...(await Promise.all(writes.slice(i, i + 20).map(answerToHead))))

    // then
    expect(answers).toEqual(writes.map(({ method, path }) => `${method} ${path}: HTTP/1.1 403 Forbidden`))
  }, 30_000)

  test("is refused at once over HTTP/2 too", async () => {
    // given a stream that the client does not end
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, {
      rejectUnauthorized: false,
      ...identities.outsider.tls,
    })
    const stream = session.request(
      { ":method": "POST", ":path": `/api/v1/namespaces/${NAMESPACE}/configmaps`, "content-type": "application/yaml" },
      { endStream: false },
    )

    // when
    const [headers] = (await once(stream, "response")) as [{ ":status": number }]

    // then
    expect(headers[":status"]).toBe(403)
    session.destroy()
  })

  test("takes no place from users who may write", async () => {
    // given more of such requests than there are places for writes, each on a stream of its own
    const sessions = Array.from({ length: 5 }, () =>
      connectHttp2(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false, ...identities.outsider.tls }),
    )
    const streams = sessions.flatMap((session) =>
      Array.from({ length: 90 }, () =>
        session.request(
          {
            ":method": "POST",
            ":path": `/api/v1/namespaces/${NAMESPACE}/configmaps`,
            "content-type": "application/json",
          },
          { endStream: false },
        ),
      ),
    )
    await Promise.all(streams.map((stream) => once(stream, "response")))

    // when somebody with rights writes
    const { status } = await identities.namespaceAdmin.request("POST", `/api/v1/namespaces/${NAMESPACE}/configmaps`, {
      body: { metadata: { name: "beside" } },
    })

    // then
    expect(status).toBe(201)
    for (const session of sessions) session.destroy()
  }, 30_000)
})
