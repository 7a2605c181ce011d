/**
 * The client of an upgrade: connects to a container runtime's streaming server or to another kubelet by SPDY: all of
 * them serve it, and its half-close signals the end of stdin, which WebSocket v4 cannot. kubectl tries WebSockets first
 * (websocket-client.ts). Source: apimachinery/pkg/util/httpstream/spdy/roundtripper.go.
 */
import { connect as connectTcp, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import { connect as connectTls } from "node:tls"
import type { Clock } from "../clock/clock.ts"
import { trustingOnly } from "../pki/trust.ts"
import { readAfterFailedWrite } from "../runtime/read-after-failed-write.ts"

export interface DialOptions {
  /**
   * An `http:` or `https:` URL; host, port, path and query are used. The CRI's Exec, Attach and PortForward return such
   * URLs.
   */
  readonly url: string
  /** The path of a unix socket to connect to instead of the URL's host. */
  readonly socketPath?: string
  /** Opens the connection, instead of one to the URL's host. */
  readonly connect?: () => Promise<Duplex>
  readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string }
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** Tells when to send pings, and over a WebSocket when to give up; without it none are sent. */
  readonly clock?: Clock
}

export interface Upgraded {
  readonly socket: Duplex
  /** The head of the response, as it came. */
  readonly answer: Buffer
  /** The bytes after the head of the response. */
  readonly head: Buffer
  /** The headers of the response, with names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly protocol: string
}

/** The server answered, but did not upgrade the connection. */
export class UpgradeRefused extends Error {
  override readonly name = "UpgradeRefused"
  constructor(
    readonly status: number,
    /** The body of the response, often a Status or a line of text. */
    readonly body: string,
  ) {
    super(`unable to upgrade connection: the server answered ${status}: ${body.trim()}`)
  }
}

const MAX_HEAD = 64 * 1024
const MAX_BODY = 64 * 1024

/**
 * Requests an upgrade of `url` to SPDY with one of `protocols`, the preferred one first. Rejects with UpgradeRefused,
 * or with the socket's error.
 */
export function dialSpdy(options: DialOptions, protocols: readonly string[]): Promise<Upgraded> {
  const headers = { Upgrade: "SPDY/3.1", "Content-Length": "0", "X-Stream-Protocol-Version": protocols }
  return dialUpgrade(options, "POST", headers, protocols.at(-1))
}

/**
 * Requests an upgrade of `url` with these headers. `oldest` is the protocol of a server that names none. Rejects with
 * UpgradeRefused, or with the socket's error.
 */
export async function dialUpgrade(
  options: DialOptions,
  method: "GET" | "POST",
  upgrade: Readonly<Record<string, string | readonly string[]>>,
  oldest = "",
): Promise<Upgraded> {
  const { url, headers = {}, signal } = options
  signal?.throwIfAborted()
  const { host, pathname, search } = new URL(url)
  const socket = options.connect === undefined ? connectTo(options) : await options.connect()
  const onAbort = () => socket.destroy(signal?.reason as Error)
  signal?.addEventListener("abort", onAbort, { once: true })
  try {
    const sent = { Host: host, ...headers, Connection: "Upgrade", ...upgrade }
    const lines = Object.entries(sent).flatMap(([name, value]) => [value].flat().map((each) => `${name}: ${each}\r\n`))
    socket.write(`${method} ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n`)
    return await readAnswer(socket, oldest)
  } catch (err) {
    socket.destroy()
    throw err
  } finally {
    signal?.removeEventListener("abort", onAbort)
  }
}

function connectTo({ url, socketPath, tls }: DialOptions): Socket {
  const { protocol: scheme, hostname, port } = new URL(url)
  const secure = scheme === "https:"
  const target =
    socketPath === undefined
      ? { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || (secure ? 443 : 80)) }
      : { path: socketPath }
  const socket: Socket = secure
    ? connectTls({
        ...target,
        ...(tls === undefined ? {} : { ...tls, ...trustingOnly(tls.ca) }),
        ALPNProtocols: ["http/1.1"],
      })
    : connectTcp(target)
  socket.setNoDelay(true)
  readAfterFailedWrite(socket)
  return socket
}

/**
 * Reads the answer to a request for an upgrade. `oldest` is the protocol of a server that names none. Rejects with
 * UpgradeRefused, or with the socket's error.
 */
export function readAnswer(socket: Duplex, oldest: string): Promise<Upgraded> {
  return new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0)
    let answer: { status: number; headers: Map<string, string>; bodyAt: number } | undefined

    const finish = (settle: () => void) => {
      socket.off("data", onData)
      socket.off("end", onEnd)
      socket.off("error", onError)
      socket.off("close", onEnd)
      settle()
    }
    const refused = () =>
      finish(() => reject(new UpgradeRefused(answer!.status, bytes.toString("utf8", answer!.bodyAt))))
    const onError = (err: Error) => finish(() => reject(err))
    const onEnd = () =>
      answer === undefined
        ? finish(() => reject(new Error("unable to upgrade connection: the server closed it without an answer")))
        : refused()
    const onData = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      answer ??= parseHead(bytes)
      if (answer === undefined) {
        if (bytes.length > MAX_HEAD)
          onError(new Error("unable to upgrade connection: the head of the answer is too long"))
        return
      }
      const { status, headers, bodyAt } = answer
      if (status === 101) {
        // Paused, so that no data is lost before the new owner listens.
        socket.pause()
        finish(() =>
          resolve({
            socket,
            answer: bytes.subarray(0, bodyAt),
            head: bytes.subarray(bodyAt),
            headers,
            protocol: headers.get("x-stream-protocol-version") ?? oldest,
          }),
        )
      } else if (bytes.length - bodyAt >= Math.min(Number(headers.get("content-length") ?? Infinity), MAX_BODY))
        refused()
    }
    socket.on("data", onData)
    socket.on("end", onEnd)
    socket.on("error", onError)
    socket.on("close", onEnd)
  })
}

function parseHead(bytes: Buffer): { status: number; headers: Map<string, string>; bodyAt: number } | undefined {
  const end = bytes.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n")
  const headers = new Map(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).trim().toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]),
  )
  return { status: Number(first.split(" ")[1]), headers, bodyAt: end + 4 }
}
