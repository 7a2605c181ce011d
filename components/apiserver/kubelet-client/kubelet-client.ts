/**
 * A kubelet on another machine, as the API server reaches it: over the kubelet's own HTTPS paths, with the API server's
 * certificate. Source: pkg/registry/core/pod/strategy.go (LogLocation, ExecLocation …), pkg/kubelet/client.
 */
import { request, type IncomingMessage } from "node:http"
import { Readable, type Duplex } from "node:stream"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { LogOptions, NodeConnector, PodTarget } from "../../../pkg/component/node-connector.ts"
import type { CommandStreams, RemoteCommandSession } from "../../../pkg/streaming/remote-command.ts"
import { MOST_ERROR_BYTES, reasonOf, refused } from "./kubelet-failures.ts"

export interface KubeletClientOptions {
  /** The kubelet's host and port, as they stand in URLs of error messages. */
  readonly address: string
  /** Opens a connection to the kubelet, which has shown that it is the right one. */
  readonly connect: () => Promise<Duplex>
  readonly clock: Pick<Clock, "setTimeout">
}

/** Loaded with the first stream: what speaks SPDY and WebSockets is much code. */
const loadStreams = () => import("./kubelet-streams.ts")

/** Returns the connector of a kubelet on another machine. */
export function kubeletClient({ address, connect, clock }: KubeletClientOptions): NodeConnector {
  const urlOf = (path: string, query: URLSearchParams): string => {
    const text = query.toString()
    return `https://${address}${path}${text === "" ? "" : `?${text}`}`
  }

  async function command(
    kind: "exec" | "attach",
    { namespace, name, uid }: PodTarget,
    options: { readonly container: string; readonly command?: readonly string[]; readonly streams: CommandStreams },
    accept: () => Promise<RemoteCommandSession | undefined>,
  ): Promise<void> {
    const { container, command: argv = [], streams } = options
    const query = streamsQuery(streams)
    for (const word of argv) query.append("command", word)
    const url = urlOf(pathOf(kind, namespace, name, uid, container), query)
    const { passCommand } = await loadStreams()
    await passCommand({ url, connect, address, clock }, streams, accept)
  }

  return {
    async logs({ namespace, name }, options, signal) {
      const url = urlOf(pathOf("containerLogs", namespace, name, options.container), logQuery(options))
      const answer = await ask({ connect, url, method: "GET", signal }).catch((err: unknown) => {
        throw new ApiError("InternalError", `Get ${JSON.stringify(url)}: ${reasonOf(err, address)}`)
      })
      if (answer.statusCode !== 200) throw await refusalOf(answer)
      return answer
    },
    exec: (pod, options, accept) => command("exec", pod, options, accept),
    attach: (pod, options, accept) => command("attach", pod, options, accept),
    async portForward({ namespace, name, uid }, accept) {
      const url = urlOf(pathOf("portForward", namespace, name, uid), new URLSearchParams())
      const { passPorts } = await loadStreams()
      await passPorts({ url, connect, address }, accept)
    },
    async proxy({ url, method, signal }) {
      const { pathname, search } = new URL(url)
      const answer = await ask({ connect, url: `https://${address}${pathname}${search}`, method, signal }).catch(
        (err: unknown) => {
          throw new ApiError("ServiceUnavailable", `error trying to reach service: ${reasonOf(err, address)}`)
        },
      )
      return responseOf(answer)
    },
  }
}

const pathOf = (...segments: readonly string[]): string => segments.map((one) => `/${encodeURIComponent(one)}`).join("")

/** Source: k8s.io/kubelet pkg/cri/streaming/remotecommand NewOptions. */
function streamsQuery({ stdin, stdout, stderr, tty }: CommandStreams): URLSearchParams {
  const on = Object.entries({ input: stdin, output: stdout, error: stderr, tty }).filter(([, is]) => is)
  return new URLSearchParams(on.map(([name]) => [name, "1"]))
}

function logQuery({ container: _, follow, previous, timestamps, ...others }: LogOptions): URLSearchParams {
  const on = Object.entries({ follow, previous, timestamps }).filter(([, is]) => is)
  return new URLSearchParams([
    ...on.map(([name]) => [name, "true"]),
    ...Object.entries(others).map(([name, value]) => [name, String(value)]),
  ])
}

interface Asked {
  readonly connect: () => Promise<Duplex>
  readonly url: string
  readonly method: string
  readonly signal: AbortSignal
}

async function ask({ connect, url, method, signal }: Asked): Promise<IncomingMessage> {
  signal.throwIfAborted()
  const socket = await connect()
  if (signal.aborted) socket.destroy() // who asked has left while the connection was opened
  signal.throwIfAborted()
  const { host, pathname, search } = new URL(url)
  return new Promise((resolve, reject) => {
    const abort = () => {
      asked.destroy()
      socket.destroy()
      reject(signal.reason as Error)
    }
    const asked = request({
      method,
      path: `${pathname}${search}`,
      headers: { Host: host, Connection: "close" },
      createConnection: () => socket,
    })
    asked.on("error", (err) => {
      socket.destroy()
      reject(err)
    })
    asked.once("response", (answer) => {
      answer.on("error", () => undefined) // its reader may have left, and an error without a listener ends the process
      answer.once("close", () => {
        signal.removeEventListener("abort", abort)
        socket.destroy()
      })
      resolve(answer)
    })
    signal.addEventListener("abort", abort, { once: true })
    asked.end()
  })
}

function responseOf(answer: IncomingMessage): Response {
  const fields = Object.entries(answer.headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  )
  const body = Readable.toWeb(answer) as unknown as ReadableStream<Uint8Array>
  return new Response(body, { status: answer.statusCode ?? 502, headers: fields })
}

/** The kubelet's refusal as the API server passes it on. Source: registry/generic/rest/response_checker.go. */
async function refusalOf(answer: IncomingMessage): Promise<ApiError> {
  const code = answer.statusCode ?? 500
  let text = ""
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    text += chunk.toString("utf8")
    if (text.length > MOST_ERROR_BYTES) break
  }
  return refused(code, text)
}
