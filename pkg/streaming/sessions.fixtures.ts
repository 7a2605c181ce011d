/** Servers and clients that tests of streaming sessions share. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server } from "node:http"
import { createServer as createTcpServer, type AddressInfo } from "node:net"
import type { Duplex, Readable } from "node:stream"
import { type RawData, WebSocket } from "ws"
import type { CommandStreams, RemoteCommandSession } from "./remote-command.ts"
import { exitCodeStatus } from "./status.ts"

const servers: { close(): unknown }[] = []
/** To be called after each test: closes the servers that it started. */
export function closeServers(): void {
  for (const server of servers.splice(0)) server.close()
}

export type Upgrade = (req: IncomingMessage, socket: Duplex, head: Buffer) => void
export async function serve(onUpgrade: Upgrade): Promise<string> {
  const server: Server = createServer()
  server.on("upgrade", onUpgrade)
  server.listen(0, "127.0.0.1")
  servers.push(server)
  await once(server, "listening")
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

export async function echoPort(): Promise<number> {
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket)).listen(0, "127.0.0.1")
  servers.push(server)
  await once(server, "listening")
  return (server.address() as AddressInfo).port
}

export const ALL: CommandStreams = { stdin: true, stdout: true, stderr: true, tty: false }
export const TTY: CommandStreams = { stdin: true, stdout: true, stderr: false, tty: true }

export async function text(stream: Readable | undefined): Promise<string> {
  let got = ""
  for await (const chunk of stream ?? []) got += String(chunk)
  return got
}

/** A command that says in capitals what it is told, complains once, and exits with 3. */
export async function shout(session: RemoteCommandSession | undefined): Promise<void> {
  if (session === undefined) return
  session.stderr?.write("complaint")
  for await (const chunk of session.stdin ?? []) session.stdout?.write(String(chunk).toUpperCase())
  await session.exit(exitCodeStatus(3))
}

/** Messages of a WebSocket with the channel split off. */
export function dialWebSocket(host: string, path: string, protocols: string[]) {
  const ws = new WebSocket(`ws://${host}${path}`, protocols)
  const channels = new Map<number, Buffer>()
  const add = (number: number, data: Buffer) =>
    channels.set(number, Buffer.concat([channels.get(number) ?? Buffer.alloc(0), data]))
  ws.on("message", (data: RawData) => {
    const message = data as Buffer
    if (ws.protocol.includes("base64")) add(message[0]! - 0x30, Buffer.from(message.toString().slice(1), "base64"))
    else add(message[0]!, message.subarray(1))
  })
  const closed = new Promise<number>((resolve) => ws.on("close", resolve))
  const open = new Promise<void>((resolve, reject) => {
    ws.on("open", () => resolve())
    ws.on("error", reject)
  })
  return { ws, channels, closed, open }
}
