import { constants } from "node:os"
import type { Readable, Writable } from "node:stream"
import {
  connectRemoteCommand,
  connectRemoteCommandOverWebSocket,
  type RemoteCommandClient,
} from "../../streaming/remote-command-client.ts"
import { UpgradeRefused } from "../../streaming/dial.ts"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { exitCodeOf } from "../../streaming/status.ts"
import { ExitError, SilentExit } from "../errors/errors.ts"
import type { Factory } from "../factory/factory.ts"
import { Interrupted, type InputStream, type OutputStream } from "../environment/environment.ts"
import type { Output } from "../printers/output.ts"
import { parseJson } from "../rest/json.ts"
import type { RestRequest } from "../rest/rest-request.ts"
import type { WebSocketOptions } from "../../streaming/websocket-client.ts"

/** What is joined with the streams of a command in a container. */
export interface SessionStreams {
  readonly stdin: AsyncIterable<Uint8Array> | undefined
  readonly stdout: Output | undefined
  readonly stderr: Output | undefined
  /** Where the command has a terminal: the one whose size it follows. */
  readonly terminal: OutputStream | undefined
}

/** Returns how to open the connection of an upgrade, with the headers that say who asks. */
export async function dialOptions(
  factory: Factory,
  path: string,
  query: NonNullable<RestRequest["query"]>,
  signal: AbortSignal | undefined,
): Promise<WebSocketOptions> {
  const client = await factory.client()
  const url = client.url({ path, query })
  const { Accept: _, ...headers } = await client.headersOf({})
  const tls = await client.tls()
  const { connect, random, clock } = factory.environment
  const { proxy } = client.config
  const aborted = signal === undefined ? {} : { signal }
  return {
    url: url.href,
    headers: flat(headers),
    ...aborted,
    random,
    clock,
    connect: () => connect.dial({ url, tls, ...aborted, ...(proxy === undefined ? {} : { proxy }) }),
  }
}

/**
 * Connects by a WebSocket, or by SPDY where the server does not want that. The variable of the environment turns
 * WebSockets off. Source: client-go tools/remotecommand/fallback.go, kubectl pkg/cmd/util/helpers.go.
 */
export async function overWebSocketFirst<T>(
  { environment }: Factory,
  variable: string,
  webSocket: () => Promise<T>,
  spdy: () => Promise<T>,
): Promise<T> {
  if (environment.variables[variable]?.toLowerCase() === "false") return spdy()
  try {
    return await webSocket()
  } catch (err) {
    if (!(err instanceof UpgradeRefused)) throw err
    return spdy()
  }
}

const flat = (headers: Readonly<Record<string, string | readonly string[]>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(", ")]))

/** Says of a refused upgrade what the server says. Source: k8s.io/streaming pkg/httpstream/spdy/roundtripper.go. */
export function upgradeError(err: unknown): unknown {
  if (!(err instanceof UpgradeRefused)) return err
  return new Error(`unable to upgrade connection: ${messageIn(err.body) || "empty server response"}`, { cause: err })
}

/** The message of a Status, or of another object that has one; otherwise the text itself. */
function messageIn(body: string): string {
  try {
    const { message, error } = parseJson(body) as { readonly message?: unknown; readonly error?: unknown }
    for (const text of [message, error]) if (typeof text === "string" && text.trim() !== "") return text.trim()
  } catch {
    // The answer is a text, such as that of a proxy.
  }
  return body.trim()
}

/**
 * Runs the command of a request for an upgrade to its end. Source: client-go tools/remotecommand.
 * @throws ExitError with the command's exit code if that is not 0
 */
export async function runSession(
  factory: Factory,
  path: string,
  query: NonNullable<RestRequest["query"]>,
  streams: SessionStreams,
): Promise<void> {
  const { environment } = factory
  const tty = streams.terminal !== undefined
  // A terminal must be left as it was. Without one Ctrl-C ends the program, as it does upstream's.
  const interrupt = tty ? environment.interrupt : environment.handledInterrupt
  let client: RemoteCommandClient
  try {
    const options = {
      ...(await dialOptions(factory, path, query, interrupt)),
      streams: {
        stdin: streams.stdin !== undefined,
        stdout: streams.stdout !== undefined,
        stderr: streams.stderr !== undefined && !tty,
        tty,
      },
    }
    client = await overWebSocketFirst(
      factory,
      "KUBECTL_REMOTE_COMMAND_WEBSOCKETS",
      () => connectRemoteCommandOverWebSocket(options),
      () => connectRemoteCommand(options),
    )
  } catch (err) {
    throw upgradeError(err)
  }
  const onInterrupt = () => client.close()
  interrupt?.addEventListener("abort", onInterrupt, { once: true })
  const stopFollowing = followSize(client, streams.terminal)
  try {
    void sendInput(client, streams.stdin)
    const [status] = await Promise.all([
      client.status,
      print(client.stdout, streams.stdout),
      print(client.stderr, streams.stderr),
    ])
    if (interrupt?.aborted === true) throw tty ? interrupt.reason : endedBySignal(interrupt.reason)
    const broken = client.broken?.()
    if (status.status !== "Success" && broken !== undefined && status.message?.endsWith(broken) === true)
      logBroken(factory, client, broken)
    const code = exitCodeOf(status)
    if (code === undefined) throw new Error(status.message ?? "")
    if (code !== 0) throw new ExitError(`command terminated with exit code ${code}`, code)
  } finally {
    stopFollowing()
    interrupt?.removeEventListener("abort", onInterrupt)
    client.close()
  }
}

/**
 * What ends a run without a terminal: upstream's program has no handler of signals then, so a shell shows 128 and the
 * number of the signal.
 */
const endedBySignal = (reason: unknown): unknown =>
  reason instanceof Interrupted ? new SilentExit(128 + constants.signals[reason.signal]) : reason

/** Logs which streams a broken connection has ended. Source: client-go tools/remotecommand/v2.go. */
function logBroken({ log }: Factory, { stdin, stdout, stderr }: RemoteCommandClient, why: string): void {
  const failed = (what: string, place: string) => log.plainError(place, `"${what} failed" err=${goQuoted(why)}`)
  if (stdin !== undefined) failed("Waiting for server to close stdin", "v2.go:130")
  if (stdout !== undefined) failed("Copying stdout", "v2.go:151")
  if (stderr !== undefined) failed("Copying stderr", "v2.go:168")
}

async function print(from: Readable | undefined, to: Output | undefined): Promise<void> {
  if (from === undefined || to === undefined) return
  for await (const part of from as AsyncIterable<Uint8Array>) await to.write(part)
}

/** Sends the input until it ends, or the command takes no more. */
async function sendInput({ stdin }: RemoteCommandClient, input: AsyncIterable<Uint8Array> | undefined): Promise<void> {
  if (stdin === undefined || input === undefined) return
  stdin.on("error", () => undefined) // the command has ended: its status says how
  try {
    for await (const part of input) {
      if (stdin.destroyed) return
      if (!stdin.write(part)) await hasRoom(stdin)
    }
  } finally {
    stdin.end()
  }
}

/** Resolves when a stream takes more, or none any more. */
function hasRoom(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off("drain", done)
      stream.off("close", done)
      resolve()
    }
    stream.once("drain", done)
    stream.once("close", done)
  })
}

/** Tells the command the size of the terminal, now and at each change. Returns how to stop. */
function followSize(client: RemoteCommandClient, terminal: OutputStream | undefined): () => void {
  if (terminal === undefined) return () => undefined
  const send = () => {
    const size = terminal.size()
    if (size !== undefined) client.resize({ width: size.columns, height: size.rows })
  }
  send()
  return terminal.onResize(send)
}

/** Switches a terminal to raw mode while `run` runs. */
export async function inRawMode(input: InputStream, run: () => Promise<void>): Promise<void> {
  input.setRaw(true)
  try {
    await run()
  } finally {
    input.setRaw(false)
  }
}
