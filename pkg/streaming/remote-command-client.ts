/**
 * exec and attach as the client of a container runtime or a kubelet. Source: client-go tools/remotecommand (v2.go,
 * v3.go, v4.go).
 */
import type { Readable, Writable } from "node:stream"
import { type DialOptions, dialSpdy } from "./dial.ts"
import { CHANNEL, type CommandStreams, protocolVersion } from "./remote-command.ts"
import { SpdyConnection } from "./spdy/connection.ts"
import { type CommandStatus, decodeStatus, SUCCESS } from "./status.ts"
import { encodeTerminalSize, type TerminalSize } from "./terminal-size.ts"
import { dialWebSocket, type WebSocketOptions } from "./websocket-client.ts"
import { WebSocketChannels } from "./websocket.ts"

export interface RemoteCommandClient {
  readonly protocol: string
  /** The command's input. Ending it lets the command see the end of its input. */
  readonly stdin: Writable | undefined
  /** Ends when the command has closed it, or the connection has ended. */
  readonly stdout: Readable | undefined
  readonly stderr: Readable | undefined
  resize(size: TerminalSize): void
  /**
   * How the command ended; a failure when the connection broke before. `stdout` and `stderr` must be read meanwhile,
   * since unread data blocks the status behind it. Never rejects.
   */
  readonly status: Promise<CommandStatus>
  readonly closed: Promise<void>
  /** Why the connection broke, once it has; undefined where its end was told, and of SPDY. */
  readonly broken?: () => string | undefined
  /** Disconnects. The other side decides what happens to the command. */
  close(): void
}

const WEBSOCKET_PROTOCOL = "v5.channel.k8s.io"
/** Source: client-go transport/spdy/spdy.go. */
const PING_MS = 5000
const PROTOCOLS = ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io"]

/** Runs or attaches to the command that `url` stands for. Rejects with UpgradeRefused or the socket's error. */
export async function connectRemoteCommand(
  options: DialOptions & { readonly streams: CommandStreams },
): Promise<RemoteCommandClient> {
  const { streams } = options
  const { socket, head, protocol } = await dialSpdy(options, PROTOCOLS)
  const version = protocolVersion(protocol)
  const connection = new SpdyConnection({ socket, side: "client", head })
  if (options.clock !== undefined) connection.keepAlive(options.clock, PING_MS)
  const open = (type: string, is: boolean) => (is ? connection.open({ streamtype: type }) : undefined)
  // The error stream is opened first, and the others in upstream's order: some servers start when the last one is open.
  const error = connection.open({ streamtype: "error" })
  const stdin = open("stdin", streams.stdin)
  const stdout = open("stdout", streams.stdout)
  const stderr = open("stderr", streams.stderr && !streams.tty)
  const resize = open("resize", streams.tty && version >= 3)
  // The server sends no data on these, but their ends must be noticed.
  stdin?.resume()
  resize?.resume()
  const status = readAll(error).then((text) => decodeStatus(text, version))
  return {
    protocol,
    stdin,
    stdout,
    stderr,
    resize: (size) => void resize?.write(encodeTerminalSize(size)),
    status,
    closed: connection.closed,
    close: () => connection.destroy(),
  }
}

/**
 * The same over a WebSocket, as kubectl does it first. Only v5, in which the end of the input can be told. Source:
 * client-go tools/remotecommand/websocket.go.
 */
export async function connectRemoteCommandOverWebSocket(
  options: WebSocketOptions & { readonly streams: CommandStreams },
): Promise<RemoteCommandClient> {
  const { streams } = options
  const { ws, protocol } = await dialWebSocket(options, [WEBSOCKET_PROTOCOL])
  if (options.clock !== undefined) ws.keepAlive(options.clock)
  const broken = () => (ws.ending === undefined ? undefined : `next reader: ${ws.ending}`)
  const channels = new WebSocketChannels(ws, { base64: false, closeSignal: true, client: true })
  const open = (name: keyof typeof CHANNEL, is: boolean) => (is ? channels.channel(CHANNEL[name]) : undefined)
  const error = channels.channel(CHANNEL.error)
  const stdin = open("stdin", streams.stdin)
  const stdout = open("stdout", streams.stdout)
  const stderr = open("stderr", streams.stderr && !streams.tty)
  const resize = open("resize", streams.tty)
  stdin?.resume()
  resize?.resume()
  return {
    protocol,
    stdin,
    stdout,
    stderr,
    resize: (size) => void resize?.write(encodeTerminalSize(size)),
    status: readAll(error).then((text) =>
      text === "" ? endWithoutStatus(broken()) : decodeStatus(text, protocolVersion(protocol)),
    ),
    closed: channels.closed,
    broken,
    close: () => channels.terminate(),
  }
}

/** A server that closes the connection as usual and tells no status means success. Source: v4.go errorDecoderV4. */
const endWithoutStatus = (broken: string | undefined): CommandStatus =>
  broken === undefined
    ? SUCCESS
    : { metadata: {}, status: "Failure", message: `error reading from error stream: ${broken}` }

async function readAll(stream: Readable): Promise<string> {
  let text = ""
  for await (const chunk of stream as AsyncIterable<Buffer>) text += chunk.toString("utf8")
  return text
}
