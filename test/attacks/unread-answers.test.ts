import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { connect as connectTls, type TLSSocket } from "node:tls"
import { startServer, type TestServer } from "../harness/server.ts"
import { h2 } from "./raw-client.ts"

const PATH = "/api/v1/namespaces/default/configmaps"
const OBJECTS = 1200
const OBJECT_BYTES = 20_000
const CLIENTS = 20
/** What the server may take for all the clients of a row, in MB: to buffer their answers would take 480. */
const MOST_MB = 240

/** Sends a request over a connection from which nothing more is read than the first bytes of the answer. */
async function askAndReadNothing(
  server: TestServer,
  protocol: string,
  path: string,
  fields: string,
): Promise<TLSSocket> {
  const isH2 = protocol === "HTTP/2"
  const socket = connectTls({
    host: server.host,
    port: server.port,
    rejectUnauthorized: false,
    ALPNProtocols: [isH2 ? "h2" : "http/1.1"],
  })
  socket.on("error", () => undefined)
  await once(socket, "secureConnect")
  if (isH2) socket.write(h2.headers("GET", path, server.token, 0x5))
  else socket.write(`GET ${path} HTTP/1.1\r\nHost: k3ts\r\nAuthorization: Bearer ${server.token}\r\n${fields}\r\n`)
  await once(socket, "readable")
  return socket
}

const UPGRADE =
  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
const WATCH = `${PATH}?watch=1`
const STREAMED = `${PATH}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`

type Row = readonly [what: string, protocol: string, path: string, fields: string]

const WATCHES: readonly Row[] = [
  ["a watch", "HTTP/1.1", WATCH, ""],
  ["a watch", "HTTP/2", WATCH, ""],
  ["a watch", "WebSocket", WATCH, UPGRADE],
  ["a streamed list", "HTTP/1.1", STREAMED, ""],
]
const LISTS: readonly Row[] = [
  ["a list", "HTTP/1.1", PATH, ""],
  ["a list", "HTTP/2", PATH, ""],
  ["a compressed list", "HTTP/1.1", PATH, "Accept-Encoding: gzip\r\n"],
  [
    "a list as a table",
    "HTTP/1.1",
    `${PATH}?includeObject=Object`,
    "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n",
  ],
  ["a list in protobuf", "HTTP/1.1", PATH, "Accept: application/vnd.kubernetes.protobuf\r\n"],
  ["a list as YAML", "HTTP/1.1", PATH, "Accept: application/yaml\r\n"],
]

// Each group has a server of its own, since what a row leaves behind counts for the rows after it.
describe.each([
  { answers: "watches", rows: WATCHES },
  { answers: "lists", rows: LISTS },
])("a server whose $answers nobody reads", ({ rows }) => {
  let server: TestServer
  /** Its memory before the first row: a process seldom gives back what it had. */
  let before: number
  beforeAll(async () => {
    server = await startServer()
    const data = { text: "x".repeat(OBJECT_BYTES) }
    for (let i = 0; i < OBJECTS; i += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, n) => server.send("POST", PATH, { metadata: { name: `c${i + n}` }, data })),
      )
    before = server.ownMb()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  test.each([...rows])("needs little memory for %s over %s", async (_, protocol, path, fields) => {
    // when
    const sockets: TLSSocket[] = []
    for (let i = 0; i < CLIENTS; i++) sockets.push(await askAndReadNothing(server, protocol, path, fields))

    // then others are served, and all that the server would send now is made meanwhile
    for (let i = 0; i < 100; i++) expect((await server.get(`${PATH}/c0`)).status).toBe(200)
    const grown = server.ownMb() - before
    for (const socket of sockets) socket.destroy()
    expect(grown).toBeLessThan(MOST_MB)
  })
})
