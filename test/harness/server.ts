import { spawn, spawnSync, type ChildProcess } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import type { IncomingHttpHeaders } from "node:http"
import { Agent, request } from "node:https"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

/**
 * A running `dist/k3ts server`, and how to reach it. Disposing it stops it and, with an agent, all it left on the
 * machine.
 */
export interface TestServer extends AsyncDisposable {
  readonly port: number
  readonly dataDir: string
  readonly kubeconfig: string
  /** The administrator's bearer token. */
  readonly token: string
  readonly pid: number
  /** From the start of the process to the first 200 of /readyz, in seconds. */
  readonly readyAfter: number
  /** performance.now() at the start of the process. */
  readonly startedAt: number
  /** What it has printed, the last part. */
  output(): string
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  send(method: string, path: string, body: unknown, contentType?: string): Promise<Answer>
  /** A request as it is: no token, no content type, any bytes. */
  raw(method: string, path: string, headers: Record<string, string>, body?: Uint8Array | string): Promise<Answer>
  /** Sends a signal and resolves with the exit code when the process has ended (null: ended by the signal). */
  kill(signal: "SIGKILL" | "SIGTERM" | "SIGINT"): Promise<number | null>
  /** Has the process not ended? */
  readonly alive: boolean
  /** Resident memory of the server itself in MB; containerd and shims are processes of their own. */
  residentMb(): number
  /** CPU seconds used so far. */
  cpuSeconds(): number
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface TestServerOptions {
  /**
   * Also a node: kubelet, containerd, kube-proxy, DNS. `simulated`: one in memory, which needs no root and leaves
   * nothing behind.
   */
  readonly agent?: boolean | "simulated"
  readonly flags?: readonly string[]
  /** A folder to start on again; it is then left in place at the end. A new one otherwise. */
  readonly dataDir?: string
  /** A free one otherwise. */
  readonly port?: number
  /** Arguments of the shell's `ulimit` for the server, for instance `-n 300`. */
  readonly ulimit?: string
  /** The program and its first arguments; EXECUTABLE unless given. */
  readonly program?: readonly string[]
  /** Puts files into the data directory before the start. */
  readonly prepare?: (dataDir: string) => void
}

/** What is tested: `dist/k3ts`, or what K3TS_TEST_EXECUTABLE names. */
export const EXECUTABLE = process.env["K3TS_TEST_EXECUTABLE"] ?? join(import.meta.dirname, "../../dist/k3ts")
/** This program as version 9.9.9: from source, so that nothing has to be built for it. */
export const NEWER_VERSION: readonly string[] = [
  process.execPath,
  "--define",
  'K3TS_VERSION="9.9.9"',
  join(import.meta.dirname, "../../cmd/k3ts/main.ts"),
]
const START_LIMIT_MS = 30_000

/**
 * What each server that has not been disposed leaves behind, and how to take it away. A test run that is cut off does
 * so before it ends.
 */
const abandoned = new Set<() => void>()
for (const [signal, code] of [
  ["SIGTERM", 143],
  ["SIGINT", 130],
  ["SIGHUP", 129],
] as const) {
  process.once(signal, () => {
    for (const clearAway of abandoned) clearAway()
    process.exit(code)
  })
}

export async function startServer({
  agent = false,
  flags = [],
  dataDir,
  port: wanted,
  ulimit,
  program: wantedProgram = [EXECUTABLE],
  prepare,
}: TestServerOptions = {}): Promise<TestServer> {
  const dir = dataDir ?? mkdtempSync(join(tmpdir(), "k3ts-test-"))
  const port = wanted ?? (await freePort())
  const kubeconfig = join(dir, "k3ts.yaml")
  prepare?.(dir)
  const startedAt = performance.now()
  const limited = ulimit === undefined ? [] : ["sh", "-c", `ulimit ${ulimit} && exec "$0" "$@"`]
  const [program = EXECUTABLE, ...before] = [...limited, ...wantedProgram]
  const child = spawn(
    program,
    [
      ...before,
      "server",
      "--config",
      "/dev/null",
      "--data-dir",
      dir,
      "--https-listen-port",
      String(port),
      "--write-kubeconfig",
      kubeconfig,
      ...(agent === false ? ["--disable-agent"] : []),
      ...(agent === "simulated" ? ["--container-runtime-endpoint", "simulated"] : []),
      ...flags,
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  )
  const clearAway = () => {
    child.kill("SIGKILL")
    if (agent === true)
      spawnSync(EXECUTABLE, dataDir === undefined ? uninstallArgs(dir) : ["killall", "--data-dir", dir])
    if (dataDir === undefined) rmSync(dir, { recursive: true, force: true })
  }
  abandoned.add(clearAway)
  let output = ""
  const keep = (bytes: Buffer) => (output = (output + bytes.toString()).slice(-20_000))
  child.stdout.on("data", keep)
  child.stderr.on("data", keep)
  const connections = new Agent({ keepAlive: true, maxSockets: 64 })
  let token = ""
  const raw = (method: string, path: string, headers: Record<string, string>, body?: Uint8Array | string) =>
    send(connections, port, method, path, headers, body)
  const authorized = (headers: Record<string, string>) => ({ authorization: `Bearer ${token}`, ...headers })
  const kill = (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal)
    return ended(child)
  }
  try {
    while ((await raw("GET", "/readyz", {}).catch(() => undefined))?.status !== 200) {
      if (child.exitCode !== null) throw new Error(`The server ended with code ${child.exitCode}:\n${output}`)
      if (performance.now() - startedAt > START_LIMIT_MS)
        throw new Error(`The server was not ready after 30 s:\n${output}`)
      await Bun.sleep(2)
    }
  } catch (err) {
    await kill("SIGKILL")
    clearAway()
    abandoned.delete(clearAway)
    throw err
  }
  const readyAfter = (performance.now() - startedAt) / 1000
  token = readFileSync(join(dir, "server/token"), "utf8").trim()
  const pid = child.pid!
  return {
    port,
    dataDir: dir,
    kubeconfig,
    token,
    pid,
    readyAfter,
    startedAt,
    raw,
    kill,
    output: () => output,
    get: (path, headers = {}) => raw("GET", path, authorized(headers)),
    send: (method, path, body, contentType = "application/json") =>
      raw(method, path, authorized({ "content-type": contentType }), JSON.stringify(body)),
    get alive() {
      return child.exitCode === null && child.signalCode === null
    },
    residentMb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024,
    cpuSeconds() {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ")
      return (Number(fields[11]) + Number(fields[12])) / 100
    },
    async [Symbol.asyncDispose]() {
      connections.destroy()
      abandoned.delete(clearAway)
      if (child.exitCode === null && child.signalCode === null) await kill("SIGTERM")
      if (agent === true)
        await ended(
          spawn(EXECUTABLE, dataDir === undefined ? uninstallArgs(dir) : ["killall", "--data-dir", dir], {
            stdio: "ignore",
          }),
        )
      if (dataDir === undefined) rmSync(dir, { recursive: true, force: true })
    },
  }
}

/**
 * Arguments that end what runs on a data directory and remove that and the logs of its pods, with a configuration that
 * may go: not the machine's.
 */
export function uninstallArgs(dataDir: string): string[] {
  const config = join(dataDir, "config.yaml")
  mkdirSync(dataDir, { recursive: true })
  writeFileSync(config, "{}\n")
  return [
    "uninstall",
    "--yes",
    "--data-dir",
    dataDir,
    "--write-kubeconfig",
    join(dataDir, "k3ts.yaml"),
    "--config",
    config,
  ]
}

const ended = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) =>
    child.exitCode !== null || child.signalCode !== null
      ? resolve(child.exitCode)
      : child.once("exit", (code) => resolve(code)),
  )

/** Connections whose failures are listened to. */
const heard = new WeakSet<object>()

/**
 * Sends one request to a server of this machine, whoever signed its certificate. The agent brings the client's
 * certificate, if any.
 */
export function send(
  agent: Agent,
  port: number,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: Uint8Array | string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const req = request({ agent, host: "127.0.0.1", port, method, path, headers, rejectUnauthorized: false }, (res) => {
      const chunks: Buffer[] = []
      res.on("data", (chunk: Buffer) => chunks.push(chunk))
      res.on("end", () => resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks) }))
      res.on("error", reject)
    })
    // A kept connection that the server's death closes fails on its own too, after its request has been answered.
    req.on("socket", (socket) => {
      if (!heard.has(socket)) socket.on("error", () => undefined)
      heard.add(socket)
    })
    req.on("error", reject)
    req.end(body)
  })
}

/** A port of loopback that nobody listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
