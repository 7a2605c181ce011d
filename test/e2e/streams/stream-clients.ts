import { once } from "node:events"
import { PassThrough, type Readable, type Writable } from "node:stream"
import { WebSocket } from "ws"
import { loadKubeconfig } from "../../../pkg/client/kubeconfig.ts"
import { connectPortForward, type PortForwardClient } from "../../../pkg/streaming/port-forward-client.ts"
import { connectRemoteCommand } from "../../../pkg/streaming/remote-command-client.ts"
import { decodeStatus, exitCodeOf, type CommandStatus } from "../../../pkg/streaming/status.ts"
import type { TestServer } from "../../harness/server.ts"

/** How a client carries streams. WebSocket v4 cannot end its input. */
export const PROTOCOLS = ["SPDY", "WebSocket v5", "WebSocket v4"] as const
export type Protocol = (typeof PROTOCOLS)[number]

export interface RunningCommand {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  readonly status: Promise<CommandStatus>
  /** Cuts the connection. */
  cut(): void
}

const credentials = ({ kubeconfig, token }: TestServer) => ({
  ca: loadKubeconfig(kubeconfig).ca!,
  headers: { authorization: `Bearer ${token}` },
})
const pathOf = (pod: string, subresource: string) => `/api/v1/namespaces/default/pods/${pod}/${subresource}`

/** Runs a command in a pod, or attaches to it without one. */
export async function startCommand(
  server: TestServer,
  protocol: Protocol,
  pod: string,
  command: readonly string[] | undefined,
): Promise<RunningCommand> {
  const query = new URLSearchParams({ stdin: "true", stdout: "true", stderr: "true" })
  for (const word of command ?? []) query.append("command", word)
  const path = `${pathOf(pod, command === undefined ? "attach" : "exec")}?${query}`
  const { ca, headers } = credentials(server)
  if (protocol !== "SPDY") return overWebSocket(server, path, protocol === "WebSocket v5" ? 5 : 4)
  const running = await connectRemoteCommand({
    url: `https://${server.host}:${server.port}${path}`,
    tls: { ca },
    headers,
    streams: { stdin: true, stdout: true, stderr: true, tty: false },
  })
  return {
    stdin: running.stdin!,
    stdout: running.stdout!,
    stderr: running.stderr!,
    status: running.status,
    cut: running.close,
  }
}

/** The most bytes of one message. */
const MOST_BYTES = 64 * 1024

async function overWebSocket(server: TestServer, path: string, version: 4 | 5): Promise<RunningCommand> {
  const { ca, headers } = credentials(server)
  const url = `wss://${server.host}:${server.port}${path}`
  const ws = new WebSocket(url, [`v${version}.channel.k8s.io`], { ca, headers, perMessageDeflate: false })
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const status = Promise.withResolvers<CommandStatus>()
  ws.on("message", (data: Buffer) => {
    const [channel, rest] = [data[0], data.subarray(1)]
    const stream = channel === 1 ? stdout : channel === 2 ? stderr : undefined
    if (channel === 3) status.resolve(decodeStatus(rest.toString(), 4))
    else if (rest.length > 0) stream?.write(rest)
  })
  ws.on("error", () => {})
  ws.on("close", () => {
    status.resolve(decodeStatus("", 4))
    stdout.end()
    stderr.end()
  })
  await once(ws, "open")
  const send = async () => {
    for await (const chunk of stdin as AsyncIterable<Buffer>)
      for (let from = 0; from < chunk.length; from += MOST_BYTES) {
        const part = chunk.subarray(from, from + MOST_BYTES)
        await new Promise((resolve) => ws.send(Buffer.concat([Buffer.from([0]), part]), resolve))
      }
    if (version === 5) ws.send(Buffer.from([255, 0]), () => {})
  }
  void send()
  return { stdin, stdout, stderr, status: status.promise, cut: () => ws.terminate() }
}

export const forwardPorts = (server: TestServer, pod: string): Promise<PortForwardClient> =>
  connectPortForward({
    url: `https://${server.host}:${server.port}${pathOf(pod, "portforward")}`,
    tls: { ca: credentials(server).ca },
    headers: credentials(server).headers,
  })

/** Gives a command its input, and returns what it printed and its exit code. */
export async function finished(
  { stdin, stdout, stderr, status }: RunningCommand,
  input: Uint8Array,
): Promise<{ readonly out: Buffer; readonly err: string; readonly code: number | undefined }> {
  stdin.on("error", () => {}) // the command may end before
  stdin.end(input)
  const [out, err, ended] = await Promise.all([bytesOf(stdout), bytesOf(stderr), status])
  return { out, err: err.toString(), code: exitCodeOf(ended) }
}

export async function bytesOf(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of stream) parts.push(part as Buffer)
  return Buffer.concat(parts)
}
