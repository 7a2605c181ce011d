import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, makeIdentities, NAMESPACE } from "./identities.ts"
import { head, PART_OF_HELLO, type SilentClient, tcpClient, tlsClient } from "./raw-client.ts"

const OPEN_FILES = 300
const CONFIGMAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`

let server: TestServer
let identities: Identities
const clients: SilentClient[] = []

beforeAll(async () => {
  server = await startServer({ ulimit: `-n ${OPEN_FILES}` })
  identities = await makeIdentities(server)
})
afterAll(async () => {
  for (const { socket } of clients) socket.destroy()
  identities[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

const openFiles = (): number => readdirSync(`/proc/${server.pid}/fd`).length

async function hold(count: number, open: () => Promise<SilentClient>): Promise<readonly SilentClient[]> {
  const held: SilentClient[] = []
  // One after another: a connection that is closed in its handshake counts as tried.
  for (let i = 0; i < count; i++) {
    const client = await open().catch(() => undefined)
    if (client !== undefined) held.push(client)
  }
  clients.push(...held)
  return held
}

/** A user with rights opens a connection, writes and reads. */
async function isServed(name: string): Promise<void> {
  const body = JSON.stringify({ metadata: { name } })
  const client = await tlsClient(
    server.port,
    head("POST", CONFIGMAPS, {
      ...identities.administrator.headers,
      "Content-Type": "application/json",
      "Content-Length": String(body.length),
      Connection: "close",
    }) + body,
  )
  await client.closed
  expect(client.text()).toStartWith("HTTP/1.1 201 Created")
}

describe("a server that may have 300 files open", () => {
  test.each<readonly [string, () => Promise<SilentClient>]>([
    ["TCP connections that send nothing", () => tcpClient(server.port)],
    ["handshakes that stop", () => tcpClient(server.port, PART_OF_HELLO)],
    ["TLS connections that send nothing", () => tlsClient(server.port, "")],
    ["heads that do not end", () => tlsClient(server.port, "GET / HTTP/1.1\r\nX: ")],
    ["HTTP/2 connections that say nothing", () => tlsClient(server.port, "", { protocol: "h2" })],
    ["anonymous requests", () => tlsClient(server.port, head("GET", "/readyz"))],
  ])("serves others beside 400 %s", async (what, open) => {
    await hold(400, open)
    await isServed(`beside-${what.toLowerCase().replaceAll(/[^a-z]/g, "-")}`)
    expect(openFiles()).toBeLessThan(OPEN_FILES)
  })

  test("serves others despite 400 idle connections of a user", async () => {
    await hold(400, () => tlsClient(server.port, head("GET", "/version"), { as: identities.outsider }))
    await isServed("beside-idle-ones")
    expect(openFiles()).toBeLessThan(OPEN_FILES)
  })

  test("serves others despite 400 watches of a user, each on its own connection", async () => {
    // when a user asks for so many
    const watches = await hold(400, () =>
      tlsClient(server.port, head("GET", `${CONFIGMAPS}?watch=true`), { as: identities.namespaceAdmin }),
    )

    // then others are served, and the user is told why not all are
    await isServed("beside-watches")
    expect(openFiles()).toBeLessThan(OPEN_FILES)
    const told = watches.map((watch) => /^HTTP\/1\.1 (\d+)/.exec(watch.text())?.[1])
    expect(told.filter((code) => code === "200").length).toBeGreaterThan(50)
    expect(told).toContain("429")
    expect(watches.find((watch) => watch.text().includes(" 429 "))!.text()).toContain(
      "too many connections of this user, please try again later",
    )
  })
})

test("the limit of open files is raised as far as it may be", async () => {
  await using limited = await startServer({ ulimit: "-S -n 256" })
  const [, soft, hard] = /Max open files\s+(\S+)\s+(\S+)/.exec(readFileSync(`/proc/${limited.pid}/limits`, "utf8"))!
  expect(soft).toBe(hard!)
})
