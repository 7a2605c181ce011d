/**
 * exec and attach as the server of a client: one kind of session for all protocols of clients. Sources:
 * k8s.io/kubelet/pkg/cri/streaming/remotecommand (httpstream.go, websocket.go),
 * apiserver/pkg/util/proxy/streamtranslator.go (v5).
 */
import type { Duplex, Readable, Writable } from "node:stream"
import { SpdyConnection } from "./spdy/connection.ts"
import type { SpdyStream } from "./spdy/stream.ts"
import { type CommandStatus, encodeStatus } from "./status.ts"
import { readTerminalSizes, type TerminalSize } from "./terminal-size.ts"
import { agreeToSpdy, isWebSocket, type UpgradeRequest } from "./upgrade.ts"
import { acceptWebSocket, WebSocketChannels } from "./websocket.ts"

/** The streams that a command has. With `tty` there is no stderr, because it is merged into stdout. */
export interface CommandStreams {
  readonly stdin: boolean
  readonly stdout: boolean
  readonly stderr: boolean
  readonly tty: boolean
}

export interface RemoteCommandSession {
  /** The subprotocol that was negotiated, for logs: `v4.channel.k8s.io` … */
  readonly protocol: string
  /** Ends when the client has closed its input, or has disconnected. Clients before WebSocket v5 cannot close it. */
  readonly stdin: Readable | undefined
  readonly stdout: Writable | undefined
  readonly stderr: Writable | undefined
  /** New sizes of the client's terminal; only with `tty`. Only one reader is allowed. */
  readonly resize: AsyncIterable<TerminalSize> | undefined
  /** Sends what is still buffered, then how the command ended, and closes the connection. Later calls do nothing. */
  exit(status: CommandStatus): Promise<void>
  /** Resolves when the connection is closed, by either side. Never rejects. */
  readonly closed: Promise<void>
}

/** The numbers of the streams as channels of a WebSocket. */
export const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const

const SPDY_PROTOCOLS = [
  "v5.channel.k8s.io",
  "v4.channel.k8s.io",
  "v3.channel.k8s.io",
  "v2.channel.k8s.io",
  "channel.k8s.io",
] as const
const WEBSOCKET_PROTOCOLS = [
  "v5.channel.k8s.io",
  "v4.channel.k8s.io",
  "v4.base64.channel.k8s.io",
  "channel.k8s.io",
  "base64.channel.k8s.io",
] as const

/** How long a client may take to open its streams, and to disconnect after it was sent the status, in milliseconds. */
const STREAM_CREATION_MS = 30_000
const LINGER_MS = 10_000

/** Returns the number in `v4.channel.k8s.io`; 1 for a name without one. */
export const protocolVersion = (protocol: string): number => Number(/^v(\d+)\./.exec(protocol)?.[1] ?? 1)

/**
 * Upgrades a request for exec or attach. Call it when the command is known to be startable: from here on errors can
 * only be sent on the error channel. Resolves to undefined when the upgrade was refused (and answered) or when the
 * client disconnected before its streams were open.
 */
export async function acceptRemoteCommand(
  req: UpgradeRequest,
  socket: Duplex,
  head: Buffer,
  streams: CommandStreams,
): Promise<RemoteCommandSession | undefined> {
  const wanted = { ...streams, stderr: streams.stderr && !streams.tty }
  return isWebSocket(req) ? acceptOverWebSocket(req, socket, head, wanted) : acceptOverSpdy(req, socket, head, wanted)
}

async function acceptOverWebSocket(
  req: UpgradeRequest,
  socket: Duplex,
  head: Buffer,
  wanted: CommandStreams,
): Promise<RemoteCommandSession | undefined> {
  const accepted = await acceptWebSocket(req, socket, head, WEBSOCKET_PROTOCOLS)
  if (accepted === undefined) return undefined
  const { ws, protocol } = accepted
  const version = protocolVersion(protocol)
  const channels = new WebSocketChannels(ws, { base64: protocol.includes("base64"), closeSignal: version >= 5 })
  const open = (name: keyof typeof CHANNEL, is: boolean) => (is ? channels.channel(CHANNEL[name]) : undefined)
  const parts = {
    stdin: open("stdin", wanted.stdin),
    stdout: open("stdout", wanted.stdout),
    stderr: open("stderr", wanted.stderr),
  }
  const error = channels.channel(CHANNEL.error)
  const resize = open("resize", wanted.tty)
  // An empty message on the first output channel: some clients take it as the sign that they are connected.
  channels.send(
    wanted.stdout ? CHANNEL.stdout : wanted.stderr ? CHANNEL.stderr : CHANNEL.error,
    Buffer.alloc(0),
    () => {},
  )
  return session({ protocol, version, ...parts, error, resize, closed: channels.closed, close: () => channels.close() })
}

async function acceptOverSpdy(
  req: UpgradeRequest,
  socket: Duplex,
  head: Buffer,
  wanted: CommandStreams,
): Promise<RemoteCommandSession | undefined> {
  const protocol = agreeToSpdy(req, socket, SPDY_PROTOCOLS)
  if (protocol === undefined) return undefined
  const version = protocolVersion(protocol)
  const expected = new Set<string>(["error"])
  if (wanted.stdin) expected.add("stdin")
  if (wanted.stdout) expected.add("stdout")
  if (wanted.stderr) expected.add("stderr")
  if (wanted.tty && version >= 3) expected.add("resize")

  const opened = new Map<string, SpdyStream>()
  const complete = Promise.withResolvers<boolean>()
  const connection = new SpdyConnection({
    socket,
    side: "server",
    head,
    onStream(stream) {
      const type = stream.headers.streamtype ?? ""
      if (!expected.has(type) || opened.has(type)) return false
      opened.set(type, stream)
      if (opened.size === expected.size) complete.resolve(true)
      return true
    },
  })
  void connection.closed.then(() => complete.resolve(false))
  setIdleLimit(socket, STREAM_CREATION_MS)
  if (!(await complete.promise)) return undefined
  setIdleLimit(socket, 0)

  const [stdin, resize] = [opened.get("stdin"), opened.get("resize")]
  return session({
    protocol,
    version,
    stdin,
    stdout: opened.get("stdout"),
    stderr: opened.get("stderr"),
    error: opened.get("error")!,
    resize,
    closed: connection.closed,
    close() {
      // The client closes the connection when it has read everything. If the server closed it, spdystream would lose
      // unread data.
      stdin?.cancel()
      resize?.cancel()
      connection.close()
      setIdleLimit(socket, LINGER_MS)
    },
  })
}

interface Parts {
  protocol: string
  version: number
  stdin: Duplex | undefined
  stdout: Duplex | undefined
  stderr: Duplex | undefined
  error: Duplex
  resize: Duplex | undefined
  closed: Promise<void>
  close: () => void
}

function session({
  protocol,
  version,
  stdin,
  stdout,
  stderr,
  error,
  resize,
  closed,
  close,
}: Parts): RemoteCommandSession {
  let exited: Promise<void> | undefined
  // No data comes on these streams, but their ends must be noticed. The server's side of stdin stays open: clients
  // close theirs when it ends.
  for (const output of [stdout, stderr, error]) output?.resume()
  return {
    protocol,
    stdin,
    stdout,
    stderr,
    resize: resize && readTerminalSizes(resize),
    closed,
    exit(status) {
      exited ??= (async () => {
        await Promise.all([flushed(stdout), flushed(stderr)])
        error.write(encodeStatus(status, version))
        await flushed(error)
        close()
      })()
      return exited
    },
  }
}

/** Ends a stream. Resolves when all its data has been handed to the socket. */
function flushed(stream: Writable | undefined): Promise<void> {
  if (stream === undefined || stream.writableFinished || stream.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    stream.once("finish", resolve)
    stream.once("close", resolve)
    if (!stream.writableEnded) stream.end()
  })
}

/**
 * Closes the connection after `ms` without data; 0 removes the limit. It is the socket's own timer, because tests run
 * without sockets and so need none.
 */
export function setIdleLimit(socket: Duplex, ms: number): void {
  if (!("setTimeout" in socket) || typeof socket.setTimeout !== "function") return
  const limited = socket as Duplex & { setTimeout(ms: number): void }
  limited.removeAllListeners("timeout")
  limited.setTimeout(ms)
  if (ms > 0) limited.once("timeout", () => socket.destroy())
}
