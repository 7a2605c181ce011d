import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { spawn, spawnSync, type ChildProcess } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import type { IncomingHttpHeaders } from "node:http"
import { Agent, request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onCutOff } from "./abandoned.ts"
import { childOf, type Machine } from "./machine.ts"

/**
 * A running `dist/k3ts server`, and how to reach it. Disposing it stops it and, with an agent, all it left on the
 * machine.
 */
export interface TestServer extends AsyncDisposable {
  /** 127.0.0.1, or the address of its machine. */
  readonly host: string
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
  /** The end of its output. */
  output(): string
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  send(method: string, path: string, body: unknown, contentType?: string): Promise<Answer>
  /** Sends a request without a token or a content type, with any bytes. */
  raw(method: string, path: string, headers: Record<string, string>, body?: Uint8Array | string): Promise<Answer>
  /** Sends a signal and resolves with the exit code when the process has ended (null: ended by the signal). */
  kill(signal: "SIGKILL" | "SIGTERM" | "SIGINT"): Promise<number | null>
  /** Resolves with the exit code when the process has ended (null: ended by a signal). */
  readonly ended: Promise<number | null>
  /** Whether the process has not ended. */
  readonly alive: boolean
  /** Resident memory of the server itself in MB; containerd and shims are processes of their own. */
  residentMb(): number
  /** The part of it that is in no file, in MB. */
  ownMb(): number
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
  /** The data directory, which then stays at the end; a new one by default. */
  readonly dataDir?: string
  /** A free one otherwise. */
  readonly port?: number
  /**
   * The machine to run on, with its data directory unless one is given. It removes what the server leaves behind, when
   * it is removed itself.
   */
  readonly machine?: Machine
  /** Arguments of the shell's `ulimit` for the server, for instance `-n 300`. */
  readonly ulimit?: string
  /** The program and its first arguments; EXECUTABLE unless given. */
  readonly program?: readonly string[]
  /** Whether errors are caused that only the process itself catches: otherwise one fails the test at its end. */
  readonly mayFail?: boolean
  /** Puts files into the data directory before the start. */
  readonly prepare?: (dataDir: string) => void
}

/** What is tested: `dist/k3ts`, or what K3TS_TEST_EXECUTABLE names. */
export const EXECUTABLE = process.env["K3TS_TEST_EXECUTABLE"] ?? join(import.meta.dirname, "../../dist/k3ts")
/** Runs k3ts as version 9.9.9, from source, so that nothing has to be built. */
export const NEWER_VERSION: readonly string[] = [
  process.execPath,
  "--define",
  'K3TS_VERSION="9.9.9"',
  join(import.meta.dirname, "../../cmd/k3ts/main.ts"),
]
const START_LIMIT_MS = 30_000

export async function startServer({
  agent = false,
  flags = [],
  dataDir,
  port: wanted,
  ulimit,
  program: wantedProgram = [EXECUTABLE],
  prepare,
  machine,
  mayFail = false,
}: TestServerOptions = {}): Promise<TestServer> {
  const dir = dataDir ?? machine?.dataDir ?? mkdtempSync(join(tmpdir(), "k3ts-test-"))
  const leavesFiles = dataDir !== undefined || machine !== undefined
  const leavesNode = agent === true && machine === undefined
  const host = machine?.address ?? "127.0.0.1"
  const port = wanted ?? (machine === undefined ? await freePort() : 6443)
  const kubeconfig = join(dir, "k3ts.yaml")
  prepare?.(dir)
  const startedAt = performance.now()
  const limited = ulimit === undefined ? [] : ["sh", "-c", `ulimit ${ulimit} && exec "$0" "$@"`]
  const words = [...limited, ...wantedProgram] as [string, ...string[]]
  const [program, ...before] = machine?.command(...words) ?? words
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
  // What this host has started on a machine is the parent of the server.
  const pidOf = () => (machine === undefined ? child.pid : childOf(child.pid!))
  const signal = (name: NodeJS.Signals): void => {
    const pid = pidOf()
    if (pid !== undefined && child.exitCode === null && child.signalCode === null) process.kill(pid, name)
  }
  const clearAway = () => {
    signal("SIGKILL")
    if (leavesNode) spawnSync(EXECUTABLE, dataDir === undefined ? uninstallArgs(dir) : ["killall", "--data-dir", dir])
    if (!leavesFiles) rmSync(dir, { recursive: true, force: true })
  }
  const kept = onCutOff(clearAway)
  let output = ""
  let firstMistake: string | undefined
  const keep = (bytes: Buffer) => {
    output = (output + bytes.toString()).slice(-20_000)
    firstMistake ??= MISTAKE.exec(output)?.[0]
  }
  child.stdout.on("data", keep)
  child.stderr.on("data", keep)
  const connections = new Agent({ keepAlive: true, maxSockets: 64 })
  let token = ""
  const raw = (method: string, path: string, headers: Record<string, string>, body?: Uint8Array | string) =>
    send(connections, { host, port }, method, path, headers, body)
  const authorized = (headers: Record<string, string>) => ({ authorization: `Bearer ${token}`, ...headers })
  const kill = (name: NodeJS.Signals): Promise<number | null> => {
    signal(name)
    return ended(child)
  }
  try {
    while ((await raw("GET", "/readyz", {}).catch(() => undefined))?.status !== 200) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`The server ended with code ${child.exitCode ?? child.signalCode}:\n${output}`)
      if (performance.now() - startedAt > START_LIMIT_MS)
        throw new Error(`The server was not ready after 30 s:\n${output}`)
      await Bun.sleep(2)
    }
  } catch (err) {
    await kill("SIGKILL")
    clearAway()
    kept.release()
    throw err
  }
  const readyAfter = (performance.now() - startedAt) / 1000
  token = readFileSync(join(dir, "server/token"), "utf8").trim()
  const pid = pidOf()!
  if (machine !== undefined)
    writeFileSync(kubeconfig, readFileSync(kubeconfig, "utf8").replace(/(server: https:\/\/)[^:]+/, `$1${host}`))
  return {
    host,
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
    ended: ended(child),
    get: (path, headers = {}) => raw("GET", path, authorized(headers)),
    send: (method, path, body, contentType = "application/json") =>
      raw(method, path, authorized({ "content-type": contentType }), JSON.stringify(body)),
    get alive() {
      return child.exitCode === null && child.signalCode === null
    },
    residentMb: () => megabytes(pid, "VmRSS"),
    ownMb: () => megabytes(pid, "RssAnon"),
    cpuSeconds() {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ")
      return (Number(fields[11]) + Number(fields[12])) / 100
    },
    async [Symbol.asyncDispose]() {
      connections.destroy()
      kept.release()
      if (child.exitCode === null && child.signalCode === null) await kill("SIGTERM")
      if (leavesNode)
        await ended(
          spawn(EXECUTABLE, dataDir === undefined ? uninstallArgs(dir) : ["killall", "--data-dir", dir], {
            stdio: "ignore",
          }),
        )
      if (!leavesFiles) rmSync(dir, { recursive: true, force: true })
      if (firstMistake !== undefined && !mayFail)
        throw new Error(`The server contained a failure that no part of it should have had:\n${firstMistake}`)
    },
  }
}

/** The log line of an error that nothing but the process itself has caught. */
const MISTAKE =
  /[^\n]*Contained a failure[^\n]* place"?[=:]"?(uncaught exception|unhandled rejection|timer|background work)[^\n]*/

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

/** A line of /proc/PID/status that counts kilobytes (proc_pid_status(5)), in MB. */
const megabytes = (pid: number, field: "VmRSS" | "RssAnon"): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024

const ended = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) =>
    child.exitCode !== null || child.signalCode !== null
      ? resolve(child.exitCode)
      : child.once("exit", (code) => resolve(code)),
  )

/** Connections whose errors are handled. */
const heard = new WeakSet<object>()

/**
 * Sends one request to a server, of this host unless another is given, whoever signed its certificate. The agent brings
 * the client's certificate, if any.
 */
export function send(
  agent: Agent,
  to: number | { readonly host: string; readonly port: number },
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: Uint8Array | string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { host, port } = typeof to === "number" ? { host: "127.0.0.1", port: to } : to
    // Without a length, the body of a DELETE would be sent without any framing.
    const framed = body === undefined ? headers : { "content-length": String(Buffer.byteLength(body)), ...headers }
    const req = request({ agent, host, port, method, path, headers: framed, rejectUnauthorized: false }, (res) => {
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
