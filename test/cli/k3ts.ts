/** Running dist/k3ts, as a user does. Servers run without a node, on ports and folders of their own. */
import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { spawn, type ChildProcess } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"

const EXECUTABLE = join(import.meta.dirname, "../../dist/k3ts")

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command to its end. No variable of the caller's reaches it but `env`. */
export function k3ts(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return ended(launch(args, env))
}

function launch(args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  return spawn(EXECUTABLE, args, { env: { PATH: process.env.PATH ?? "", ...env }, stdio: ["ignore", "pipe", "pipe"] })
}

function ended(child: ChildProcess): Promise<Ended> {
  const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []]
  child.stdout!.on("data", (bytes: Buffer) => stdout.push(bytes))
  child.stderr!.on("data", (bytes: Buffer) => stderr.push(bytes))
  return new Promise((resolve) =>
    child.once("close", (code, signal) =>
      resolve({ code, signal, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() }),
    ),
  )
}

export interface TestServer extends AsyncDisposable {
  readonly dataDir: string
  readonly kubeconfig: string
  readonly port: number
  readonly pid: number
  readonly token: string
  /** Resolves when it has ended by itself or by a signal. */
  readonly ended: Promise<Ended>
  get(path: string, token?: string): Promise<{ readonly status: number; readonly body: string }>
  /** Sends a request with a body as the administrator. */
  send(
    method: string,
    path: string,
    body: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ readonly status: number; readonly body: string }>
  /**
   * Resolves when `wanted` holds for the answer at `path`; asks again at each change the log tells of, and at short
   * intervals.
   */
  eventually(path: string, wanted: (body: string, status: number) => boolean): Promise<string>
  signal(name: NodeJS.Signals): void
}

/** A server without a node, or with a simulated one, that is ready. @throws Error with what it wrote when it does not come up */
export async function startServer({
  flags = [],
  env = {},
  dataDir = mkdtempSync(join(tmpdir(), "k3ts-cli-")),
  keep = false,
  host,
  node = false,
}: {
  flags?: readonly string[]
  env?: Record<string, string>
  dataDir?: string
  keep?: boolean
  host?: string
  node?: boolean
} = {}): Promise<TestServer> {
  const port = await freePort()
  const kubeconfig = join(dataDir, "k3ts.yaml")
  const child = launch(
    [
      "server",
      ...(node ? ["--container-runtime-endpoint", "simulated", "--kubelet-port", "0"] : ["--disable-agent"]),
      "--data-dir",
      dataDir,
      "--https-listen-port",
      String(port),
      "--write-kubeconfig",
      kubeconfig,
      ...(host === undefined ? [] : ["--bind-address", host]),
      ...flags,
    ],
    { K3TS_CONFIG: emptyConfig(), ...env },
  )
  const end = ended(child)
  let over: Ended | undefined
  void end.then((result) => (over = result))
  const get = (path: string, token = tokenOf(dataDir)) => call(host ?? "127.0.0.1", port, path, token)
  while (over === undefined && (await get("/readyz").catch(() => undefined))?.status !== 200) await Bun.sleep(5)
  if (over !== undefined)
    throw new Error(`The server ended with code ${(over as Ended).code}:\n${(over as Ended).stderr}`)
  return {
    dataDir,
    kubeconfig,
    port,
    pid: child.pid!,
    token: tokenOf(dataDir),
    ended: end,
    get,
    send: (method, path, body, headers) =>
      call(host ?? "127.0.0.1", port, path, tokenOf(dataDir), { method, body, headers }),
    async eventually(path, wanted) {
      const deadline = performance.now() + 20_000
      for (;;) {
        const { status, body } = await get(path)
        if (wanted(body, status)) return body
        if (performance.now() > deadline) throw new Error(`${path} is still ${status} ${body}`)
        await Bun.sleep(20)
      }
    },
    signal: (name) => void child.kill(name),
    async [Symbol.asyncDispose]() {
      if (over === undefined) child.kill("SIGKILL")
      await end
      if (!keep) rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** So that a config file of this machine has no say. */
const emptyConfig = (): string => "/dev/null"

const tokenOf = (dataDir: string): string =>
  existsSync(join(dataDir, "server/token")) ? readFileSync(join(dataDir, "server/token"), "utf8").trim() : ""

interface Sending {
  readonly method: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

function call(
  host: string,
  port: number,
  path: string,
  token: string,
  { method, body, headers }: Sending = { method: "GET", body: "", headers: {} },
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const req = request(
      {
        host,
        port,
        path,
        method,
        rejectUnauthorized: false,
        agent: false,
        headers: { ...headers, ...(token === "" ? {} : { authorization: `Bearer ${token}` }) },
      },
      (res) => {
        const parts: Buffer[] = []
        res.on("data", (part: Buffer) => parts.push(part))
        res.on("end", () => resolve({ status: res.statusCode ?? 0, body: Buffer.concat(parts).toString() }))
        res.on("error", reject)
      },
    )
    req.on("error", reject)
    req.end(body)
  })
}
