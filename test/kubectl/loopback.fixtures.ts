/** kubectl in this process against servers of a test, over real connections on loopback. */
import { mkdtemp, rm } from "node:fs/promises"
import { createServer as createHttpServer, type ServerResponse } from "node:http"
import { createServer, type AddressInfo, type Server, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Timer } from "../../pkg/clock/clock.ts"
import { realClock } from "../../pkg/clock/real.ts"
import type { Environment } from "../../pkg/kubectl/environment/environment.ts"
import { hostEnvironment } from "../../pkg/kubectl/environment/host-environment.ts"
import { runKubectl } from "../../pkg/kubectl/kubectl.ts"

const VERSION = {
  ...{ major: "1", minor: "36", gitVersion: "v1.36.0", gitCommit: "", gitTreeState: "", buildDate: "" },
  ...{ goVersion: "", compiler: "", platform: "linux/amd64" },
}

/** Made once: it listens to the outputs of this process. */
const host = hostEnvironment({ name: "kubectl", kubeconfigs: [], version: VERSION })

export interface Ran {
  readonly code: number
  readonly stdout: string
  /** With neither times nor the ports of this end of a connection. */
  readonly stderr: string
}

/**
 * Runs kubectl with an empty home. Its waits take no time; `waits` is called with how long each would have taken, in
 * milliseconds, before it ends. `watchdog` starts the limit of a request; without it, the limit is that of the system's
 * clock.
 */
export async function kubectl(
  port: number,
  command: string,
  waits: (ms: number) => void | Promise<void> = () => undefined,
  watchdog: (run: () => void, ms: number) => Timer = (run, ms) => realClock.setTimeout(run, ms),
): Promise<Ran> {
  const home = await mkdtemp(join(tmpdir(), "kubectl-"))
  const [stdout, stderr] = [collected(), collected()]
  const environment: Environment = {
    ...host,
    variables: { HOME: home },
    home,
    kubeconfigs: [],
    stdout: stdout.output,
    stderr: stderr.output,
    interrupt: new AbortController().signal,
    handledInterrupt: undefined,
    clock: {
      ...realClock,
      setTimeout(run, ms, kind) {
        // The limit of a request or of the command stays.
        if (kind === "watchdog") return watchdog(run, ms)
        if (ms > 10_000) return realClock.setTimeout(run, ms)
        let isOver = false
        void Promise.resolve(waits(ms)).then(() => isOver || run())
        return { cancel: () => void (isOver = true) }
      },
    },
  }
  try {
    const code = await runKubectl(["--server", `http://127.0.0.1:${port}`, ...command.split(" ")], environment)
    const plain = stderr
      .text()
      .replaceAll(String(port), "PORT")
      .replaceAll(/^([IWEF])\d{4} [\d:.]+ +\d+ /gm, "$1 ")
      .replaceAll(/127\.0\.0\.1:\d+->/g, "LOCAL->")
    return { code, stdout: stdout.text(), stderr: plain }
  } finally {
    await rm(home, { recursive: true })
  }
}

function collected() {
  const parts: string[] = []
  const write = (part: string | Uint8Array) => {
    parts.push(typeof part === "string" ? part : Buffer.from(part).toString())
    return Promise.resolve()
  }
  return { output: { ...host.stdout, isTerminal: false, write }, text: () => parts.join("") }
}

/** A server on loopback. */
export interface LoopbackServer extends AsyncDisposable {
  readonly port: number
  /** Ends all connections, and listens no more. */
  leave(): Promise<void>
  /** Listens again on the same port. */
  comeBack(): Promise<void>
}

/** A server that does `answer` with each connection whose request it has read. */
export const rawServer = (answer: (socket: Socket) => void): Promise<LoopbackServer> =>
  serving(
    createServer((socket) => {
      socket.on("error", () => undefined)
      let head = ""
      socket.on("data", (data: Buffer) => {
        head += data.toString("latin1")
        if (!head.includes("\r\n\r\n")) return
        head = ""
        answer(socket)
      })
    }),
  )

/** A server that answers by method and path, for example `GET /api/v1`; `watch` stands in place of GET for a watch. */
export const apiServer = (answers: Readonly<Record<string, object | ((res: ServerResponse) => void)>>) =>
  serving(
    createHttpServer((req, res) => {
      const url = new URL(req.url ?? "", "http://server")
      const verb = url.searchParams.has("watch") ? "watch" : req.method
      const answer = answers[`${verb} ${url.pathname}`]
      if (answer === undefined) res.writeHead(404)
      else res.setHeader("Content-Type", "application/json")
      if (typeof answer === "function") answer(res)
      else res.end(JSON.stringify(answer ?? {}))
    }),
  )

async function serving(server: Server): Promise<LoopbackServer> {
  const sockets = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  const listen = (at: number) => new Promise<void>((resolve) => server.listen(at, "127.0.0.1", resolve))
  const leave = () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const socket of sockets) socket.destroy()
    return closed
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  return { port, leave, comeBack: () => listen(port), [Symbol.asyncDispose]: leave }
}
