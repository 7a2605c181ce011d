/** Servers that answer something else than Kubernetes, or nothing. Each word and code is that of kubectl 1.36.3. */
import { expect, test } from "bun:test"
import type { Socket } from "node:net"
import { join } from "node:path"
import { kubectl, rawServer } from "./loopback.fixtures.ts"

const CREATE = "create configmap a"
const OF_CREATE = "api/v1/namespaces/default/configmaps?fieldManager=kubectl-create&fieldValidation=Strict"
const discoveryError = (why: string) =>
  `E memcache.go:265] "Unhandled Error" err=${JSON.stringify(`couldn't get current server API group list: ${why}`)}\n`
const response = (status: string, type: string, body: string) =>
  `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`

const closed = (socket: Socket): void => void socket.end()
const reset = (socket: Socket): void => void socket.resetAndDestroy()
const cut = (socket: Socket): void =>
  void socket.end(response("200 OK", "application/json", '{"kind":"P'.padEnd(99)).slice(0, -80))
const noHttp = (socket: Socket): void => void socket.end("SSH-2.0-OpenSSH\r\n\r\n")
const page = (socket: Socket): void => void socket.write(response("200 OK", "text/html", "<html></html>"))
const gateway = (socket: Socket): void => void socket.write(response("502 Bad Gateway", "text/html", "<html></html>"))
const UNAUTHORIZED = {
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message: "Unauthorized",
  reason: "Unauthorized",
  code: 401,
}
const expired = (socket: Socket): void =>
  void socket.write(response("401 Unauthorized", "application/json", JSON.stringify(UNAUTHORIZED)))

const PREVIOUS = "read tcp LOCAL->127.0.0.1:PORT: read: connection reset by peer"
const CUT = "unexpected error when reading response body. Please retry. Original error: unexpected EOF"
const CUT_LOG = 'E request.go:1196] "Unexpected error when reading response body" err="unexpected EOF"\n'
const MALFORMED = 'net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0-OpenSSH"'
const CREDENTIALS = "the server has asked for the client to provide credentials"
const MANIFEST = join(import.meta.dirname, "../../manifests/examples/web.yaml")
const INTERNAL = 'an error on the server ("<html></html>") has prevented the request from succeeding'
const VALIDATING = `error: error validating "${MANIFEST}": error validating data: failed to download openapi: ${INTERNAL}; if you choose to ignore these errors, turn validation off with --validate=false\n`

test.each<[server: string, answer: (socket: Socket) => void, command: string, stderr: string]>([
  ["that closes the connection", closed, "get --raw /x", "Unable to connect to the server: EOF\n"],
  ["that closes the connection", closed, "version", "Unable to connect to the server: EOF\n"],
  [
    "that closes the connection",
    closed,
    CREATE,
    `error: failed to create configmap: Post "http://127.0.0.1:PORT/${OF_CREATE}": EOF\n`,
  ],
  ["that resets the connection", reset, "get --raw /x", `Unable to connect to the server: ${PREVIOUS}\n`],
  [
    "that resets the connection",
    reset,
    "version",
    `error: Get "http://127.0.0.1:PORT/version?timeout=32s": ${PREVIOUS} - error from a previous attempt: ${PREVIOUS}\n`,
  ],
  ["that ends in the middle", cut, "get --raw /x", "error: unexpected EOF\n"],
  ["that ends in the middle", cut, "get pods", `${CUT_LOG}${discoveryError(CUT)}`.repeat(5) + `error: ${CUT}\n`],
  ["that ends in the middle", cut, CREATE, `${CUT_LOG}error: failed to create configmap: ${CUT}\n`],
  ["that speaks no HTTP", noHttp, "get --raw /x", `Unable to connect to the server: ${MALFORMED}\n`],
  [
    "of web pages",
    page,
    "get pods",
    discoveryError("invalid character '<' looking for beginning of value").repeat(5) +
      "error: invalid character '<' looking for beginning of value\n",
  ],
  [
    "of web pages",
    page,
    "version",
    "error: unable to parse the server version: invalid character '<' looking for beginning of value\n",
  ],
  ["of web pages", page, CREATE, "error: failed to create configmap: serializer for text/html doesn't exist\n"],
  [
    "behind a gateway that does not reach it",
    gateway,
    "get pods",
    discoveryError(INTERNAL).repeat(5) + `Error from server (InternalError): ${INTERNAL}\n`,
  ],
  ["behind a gateway that does not reach it", gateway, "create -f MANIFEST", VALIDATING],
  [
    "behind a gateway that does not reach it",
    gateway,
    "run x --image=y --dry-run=client",
    `${discoveryError(INTERNAL)}Error from server (InternalError): ${INTERNAL}\n`,
  ],
  [
    "that knows the user no more",
    expired,
    "get pods",
    discoveryError(CREDENTIALS).repeat(5) + `error: You must be logged in to the server (${CREDENTIALS})\n`,
  ],
  ["that knows the user no more", expired, "version", `error: You must be logged in to the server (${CREDENTIALS})\n`],
  [
    "that knows the user no more",
    expired,
    "auth whoami",
    "error: You must be logged in to the server (Unauthorized)\n",
  ],
  ["that knows the user no more", expired, CREATE, "error: failed to create configmap: Unauthorized\n"],
])(
  "of a server %s, with one connection after another, kubectl says what upstream says: %#",
  async (_, answer, command, stderr) => {
    await using server = await rawServer(answer)
    const ran = await kubectl(server.port, command.replace("MANIFEST", MANIFEST))
    expect([ran.code, ran.stderr]).toEqual([1, stderr])
  },
)

test("a connection that breaks before an answer is made again a second later, but only for what changes nothing", async () => {
  // given a server that resets the first two connections
  let connections = 0
  await using server = await rawServer((socket) => {
    if (++connections <= 2) reset(socket)
    else socket.end(response("200 OK", "application/json", '{"major":"1","minor":"36","gitVersion":"v1.36.9"}'))
  })
  const waits: number[] = []

  // when it is asked, then the third attempt succeeds
  const ran = await kubectl(server.port, "version", (ms) => void waits.push(ms))
  expect([ran.code, ran.stdout.includes("v1.36.9"), ran.stderr, waits]).toEqual([0, true, "", [1000, 1000]])

  // and a create is not sent twice
  connections = 0
  expect((await kubectl(server.port, CREATE)).code).toBe(1)
  expect(connections).toBe(1)
})

test("a request that changes nothing is sent again at once when the server has closed the kept connection", async () => {
  // given a server that answers one request on each connection, and closes it when the next one comes
  const seen = new Set<Socket>()
  await using server = await rawServer((socket) => {
    if (seen.has(socket)) return void socket.destroy()
    seen.add(socket)
    socket.write(response("200 OK", "application/json", '{"kind":"APIGroupList","groups":[]}'))
  })
  // when kubectl asks for several things, one after the other
  const waits: number[] = []
  const ran = await kubectl(server.port, "api-versions", (ms) => void waits.push(ms))
  // then it gets them all, and has not waited
  expect([ran.code, ran.stderr, seen.size > 1, waits]).toEqual([0, "", true, []])
})
