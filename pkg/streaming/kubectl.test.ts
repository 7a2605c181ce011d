/**
 * Real kubectl binaries against a server that has one pod and no cluster behind it. All that are found are used:
 * `kubectl` and `kubectl.1.NN` on the PATH,
 *  and those named in K3TS_TEST_KUBECTLS (paths, separated by colons). */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawn, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { createServer, connect as connectTcp, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { once } from "node:events"
import { pipeline } from "node:stream/promises"
import { openClusterPki } from "../pki/cluster-pki.ts"
import { answer, type Listener, listenTls } from "../runtime/http/listen.ts"
import type { ServerRequest } from "../runtime/http/server-request.ts"
import { acceptPortForward, refuseForwarded } from "./port-forward.ts"
import { acceptRemoteCommand, type RemoteCommandSession } from "./remote-command.ts"
import { exitCodeStatus, failureStatus } from "./status.ts"
import { refuseUpgrade } from "./upgrade.ts"

const found = [
  ...(process.env.K3TS_TEST_KUBECTLS ?? "").split(":"),
  ...(process.env.PATH ?? "").split(":").flatMap((dir) =>
    existsSync(dir)
      ? readdirSync(dir)
          .filter((name) => /^kubectl(\.1\.\d+)?$/.test(name))
          .map((name) => join(dir, name))
      : [],
  ),
].filter((path) => path !== "" && existsSync(path))

const versionOf = (path: string): string =>
  /gitVersion:\s*v?(\S+)/.exec(
    spawnSync(path, ["version", "--client", "-o", "yaml"], { encoding: "utf8" }).stdout,
  )?.[1] ?? "?"
const kubectls = [...new Map(found.map((path) => [versionOf(path), path]))]
if (kubectls.length === 0)
  console.warn("SKIPPED: no kubectl on the PATH, so exec and port-forward are not tried with the real one")

const BIG = 8 * 1024 * 1024
const pki = openClusterPki({ now: () => Date.now() })
const home = mkdtempSync(join(tmpdir(), "kubectl-"))
const protocols: string[] = []
let listener: Listener
/** Echoes what it gets, and ends when its client does. */
const echo = createServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket))

beforeAll(async () => {
  const serving = pki.issue({
    name: "s",
    authority: "server-ca",
    subject: { commonName: "s", organizations: [] },
    ipAddresses: ["127.0.0.1"],
  })
  listener = await listenTls({
    host: "127.0.0.1",
    port: 0,
    cert: serving.certPem,
    key: serving.keyPem,
    clientCa: pki.authorities["client-ca"].certPem,
    onRequest,
    onUpgrade: (req, socket, head) => void onUpgrade(req, socket, head),
  })
  echo.listen(0, "127.0.0.1")
  await once(echo, "listening")
})
afterAll(async () => {
  echo.close()
  await listener.stop()
  rmSync(home, { recursive: true, force: true })
})

const pod = {
  kind: "Pod",
  apiVersion: "v1",
  metadata: { name: "p", namespace: "default", uid: "u" },
  spec: { containers: [{ name: "c", image: "i", stdin: true, tty: false }] },
  status: { phase: "Running" },
}
const DOCUMENTS: Record<string, unknown> = {
  "/api": { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] },
  "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [] },
  "/api/v1": {
    kind: "APIResourceList",
    groupVersion: "v1",
    resources: [
      { name: "pods", singularName: "pod", namespaced: true, kind: "Pod", verbs: ["get"], shortNames: ["po"] },
    ],
  },
  "/api/v1/namespaces/default/pods/p": pod,
}

function onRequest(req: ServerRequest, res: Parameters<typeof answer>[0]): void {
  const document = DOCUMENTS[new URL(req.url ?? "/", "http://x").pathname]
  answer(
    res,
    document === undefined ? 404 : 200,
    { "content-type": "application/json" },
    JSON.stringify(document ?? { kind: "Status", apiVersion: "v1", status: "Failure", code: 404, reason: "NotFound" }),
  )
}

async function onUpgrade(
  req: ServerRequest,
  socket: Parameters<typeof acceptRemoteCommand>[1],
  head: Buffer,
): Promise<void> {
  const { pathname, searchParams } = new URL(req.url ?? "/", "http://x")
  if (pathname.endsWith("/portforward")) return forward(req, socket, head)
  const command = searchParams.getAll("command")
  if (command[0] === "forbidden") return refuseUpgrade(socket, 403, "not you")
  const wants = (name: string) => ["1", "true"].includes(searchParams.get(name) ?? "")
  const session = await acceptRemoteCommand(req, socket, head, {
    stdin: wants("stdin"),
    stdout: wants("stdout"),
    stderr: wants("stderr"),
    tty: wants("tty"),
  })
  if (session === undefined) return
  protocols.push(`${req.headers.upgrade} ${session.protocol}`)
  await run(session, command)
}

/** The program that stands in for the container. */
async function run(session: RemoteCommandSession, [name, argument = ""]: string[]): Promise<void> {
  const { stdin, stdout, stderr } = session
  if (name === "cat" && stdin !== undefined && stdout !== undefined) await pipeline(stdin, stdout, { end: false })
  if (name === "big")
    for (let sent = 0; sent < BIG; sent += 65536)
      if (!stdout!.write(Buffer.alloc(65536, "x"))) await once(stdout!, "drain")
  if (name === "both") {
    stdout?.write("out")
    stderr?.write("err")
  }
  if (name === "size")
    for await (const { width, height } of session.resize ?? []) {
      stdout!.write(`${width > 0 && height > 0}`)
      break
    }
  await session.exit(
    name === "broken" ? failureStatus("no such container") : exitCodeStatus(name === "exit" ? Number(argument) : 0),
  )
}

async function forward(
  req: ServerRequest,
  socket: Parameters<typeof acceptPortForward>[1],
  head: Buffer,
): Promise<void> {
  const session = await acceptPortForward(req, socket, head)
  if (session === undefined) return
  protocols.push(`${req.headers.upgrade} ${session.protocol}`)
  for await (const connection of session) {
    if (connection.port !== 80) {
      refuseForwarded(connection, "p", "u", "connection refused")
      continue
    }
    const target = connectTcp({ port: (echo.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true })
    connection.data.pipe(target).pipe(connection.data)
    void connection.gone.then(() => target.destroy())
  }
}

const flags = () => [
  "--server",
  `https://127.0.0.1:${listener.port}`,
  "--insecure-skip-tls-verify",
  "--token",
  "t",
  "--cache-dir",
  join(home, "cache"),
  "--namespace",
  "default",
]
const start = (path: string, args: string[], env: Record<string, string> = {}) =>
  spawn(path, [...flags(), ...args], { env: { ...process.env, HOME: home, KUBECONFIG: "/dev/null", ...env } })

async function kubectl(
  path: string,
  args: string[],
  { input, env }: { input?: Buffer; env?: Record<string, string> } = {},
) {
  const child = start(path, args, env)
  const read = async (stream: NodeJS.ReadableStream) => {
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks)
  }
  child.stdin.on("error", () => {})
  child.stdin.end(input)
  const [out, err, [code]] = await Promise.all([
    read(child.stdout),
    read(child.stderr),
    once(child, "exit") as Promise<[number]>,
  ])
  return { out, err: err.toString(), code }
}

const minor = (version: string) => Number(version.split(".")[1])
// From 1.30 (beta on) exec, and from 1.31 port-forward, begin with WebSocket; the variables bring the older way back.
const runs = kubectls.flatMap(([version, path]) => [
  {
    title: `${version}`,
    path,
    env: {} as Record<string, string>,
    webSocketExec: minor(version) >= 30,
    webSocketForward: minor(version) >= 31,
  },
  ...(minor(version) >= 30
    ? [
        {
          title: `${version} without WebSocket`,
          path,
          env: { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false", KUBECTL_PORT_FORWARD_WEBSOCKETS: "false" },
          webSocketExec: false,
          webSocketForward: false,
        },
      ]
    : []),
])

describe.skipIf(runs.length === 0).each(runs)("kubectl $title", ({ path, env, webSocketExec, webSocketForward }) => {
  test("exec prints both outputs and returns the exit code", async () => {
    expect(await kubectl(path, ["exec", "p", "--", "both"], { env })).toMatchObject({
      out: Buffer.from("out"),
      err: "err",
      code: 0,
    })
    expect(protocols.at(-1)).toMatch(
      webSocketExec ? /^websocket v5.channel.k8s.io$/ : /^SPDY.3.1 v[45].channel.k8s.io$/,
    )
    expect(await kubectl(path, ["exec", "p", "--", "exit", "42"], { env })).toMatchObject({
      err: expect.stringContaining("command terminated with exit code 42") as string,
      code: 42,
    })
    expect(await kubectl(path, ["exec", "p", "--", "broken"], { env })).toMatchObject({
      err: expect.stringContaining("no such container") as string,
      code: 1,
    })
  }, 60_000)

  test("exec -i ends the command's input, and passes much data completely", async () => {
    const input = Buffer.alloc(BIG, "0123456789abcdef")
    const { out, code } = await kubectl(path, ["exec", "-i", "p", "--", "cat"], { input, env })
    expect([code, out.length, out.equals(input)]).toEqual([0, BIG, true])
    const big = await kubectl(path, ["exec", "p", "--", "big"], { env })
    expect({ ...big, out: big.out.length }).toEqual({ code: 0, err: "", out: BIG })
  }, 60_000)

  test("port-forward carries connections and their ends, and reports a closed port", async () => {
    const child = start(path, ["port-forward", "pod/p", ":80", ":81"], env)
    let text = ""
    let seen = () => {}
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        text += String(chunk)
        seen()
      })
    const said = async (words: RegExp) => {
      while (!words.test(text)) await new Promise<void>((resolve) => (seen = resolve))
    }
    await said(/127\.0\.0\.1:\d+ -> 81/)
    expect(protocols.at(-1)).toBe(
      webSocketForward ? "websocket SPDY/3.1+portforward.k8s.io" : "SPDY/3.1 portforward.k8s.io",
    )
    const port = (remote: number) => Number(new RegExp(`127\\.0\\.0\\.1:(\\d+) -> ${remote}`).exec(text)?.[1])
    const input = Buffer.alloc(BIG, "0123456789abcdef")
    const talk = async (to: number) => {
      const socket = connectTcp({ port: to, host: "127.0.0.1", allowHalfOpen: true })
      const chunks: Buffer[] = []
      socket.on("error", () => {}) // the closed port's connection is cut
      socket.on("data", (chunk: Buffer) => void chunks.push(chunk))
      socket.end(input)
      await new Promise((resolve) => socket.once("close", resolve))
      return Buffer.concat(chunks)
    }
    const talks = await Promise.all([talk(port(80)), talk(port(80)), talk(port(80))])
    expect(talks.map((got) => [got.length, got.equals(input)])).toEqual([
      [BIG, true],
      [BIG, true],
      [BIG, true],
    ])
    expect((await talk(port(81))).length).toBe(0)
    await said(/connection refused/)
    // kubectl may have given up by itself already
    const ended = child.exitCode === null ? once(child, "exit") : undefined
    child.kill()
    await ended
  }, 60_000)
})
