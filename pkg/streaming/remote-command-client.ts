/**
 * exec and attach as the client of a container runtime or a kubelet. Source: client-go tools/remotecommand (v2.go,
 * v3.go, v4.go).
 */
import type { Readable, Writable } from "node:stream"
import { type DialOptions, dialSpdy } from "./dial.ts"
import { type CommandStreams, protocolVersion } from "./remote-command.ts"
import { SpdyConnection } from "./spdy/connection.ts"
import { type CommandStatus, decodeStatus } from "./status.ts"
import { encodeTerminalSize, type TerminalSize } from "./terminal-size.ts"

export interface RemoteCommandClient {
  readonly protocol: string
  /** End it to let the command see the end of its input. */
  readonly stdin: Writable | undefined
  /** Ends when the command has closed it, or the connection is over. */
  readonly stdout: Readable | undefined
  readonly stderr: Readable | undefined
  resize(size: TerminalSize): void
  /**
   * How the command ended: a failure when the connection broke before it did. Read `stdout` and `stderr` meanwhile:
   * they hold up what comes behind them.
   *  Never rejects. */
  readonly status: Promise<CommandStatus>
  readonly closed: Promise<void>
  /** Leaves. What becomes of the command is the other side's affair. */
  close(): void
}

const PROTOCOLS = ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io"]

/** Runs or joins the command that `url` stands for. Rejects with UpgradeRefused or the socket's error. */
export async function connectRemoteCommand(
  options: DialOptions & { readonly streams: CommandStreams },
): Promise<RemoteCommandClient> {
  const { streams } = options
  const { socket, head, protocol } = await dialSpdy(options, PROTOCOLS)
  const version = protocolVersion(protocol)
  const connection = new SpdyConnection({ socket, side: "client", head })
  const open = (type: string, is: boolean) => (is ? connection.open({ streamtype: type }) : undefined)
  // The error stream first and the others in upstream's order: some servers start when the last one is there.
  const error = connection.open({ streamtype: "error" })
  const stdin = open("stdin", streams.stdin)
  const stdout = open("stdout", streams.stdout)
  const stderr = open("stderr", streams.stderr && !streams.tty)
  const resize = open("resize", streams.tty && version >= 3)
  // What the server says on these is nothing; their ends must be seen.
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

async function readAll(stream: Readable): Promise<string> {
  let text = ""
  for await (const chunk of stream as AsyncIterable<Buffer>) text += chunk.toString("utf8")
  return text
}
