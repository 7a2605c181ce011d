/** Clients that open connections by hand, to send less than a whole request, or nothing. */
import { once } from "node:events"
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import type { Identity } from "./identities.ts"

/** The beginning of a TLS ClientHello, whose header announces 512 bytes. */
export const PART_OF_HELLO = Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])

const frame = (type: number, flags: number, stream: number, payload: Uint8Array): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}
const END_STREAM = 0x1
const END_HEADERS = 0x4
/** HPACK without the dynamic table and without Huffman codes (RFC 7541, 6.2.2). */
const field = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)])

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
const SETTINGS = frame(4, 0, 0, Buffer.alloc(0))
const OPENED = Buffer.concat([PREFACE, SETTINGS])

/** Frames of HTTP/2, as bytes. `headers` opens stream 1 and does not end it. */
export const h2 = {
  preface: PREFACE,
  settings: OPENED,
  headers: (method: string, path: string, token: string, flags = END_HEADERS): Buffer =>
    Buffer.concat([
      OPENED,
      frame(
        1,
        flags,
        1,
        Buffer.concat([
          field(":method", method),
          field(":scheme", "https"),
          field(":path", path),
          field(":authority", "k3ts"),
          field("content-type", "application/json"),
          // A value of more than 126 bytes would need a longer form of its length.
          ...(token === "" ? [] : [field("authorization", `Bearer ${token}`)]),
        ]),
      ),
    ]),
  /** A part of the body of stream 1; the last one ends it. */
  data: (text: string, isLast = false): Buffer => frame(0, isLast ? END_STREAM : 0, 1, Buffer.from(text)),
}

/** The first bytes of a TLS client: its ClientHello. */
export async function helloOf(protocol: "http/1.1" | "h2"): Promise<Buffer> {
  const listener = createServer()
  listener.listen(0, "127.0.0.1")
  await once(listener, "listening")
  const { port } = listener.address() as AddressInfo
  const client = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: [protocol] })
  client.on("error", () => undefined)
  const [socket] = (await once(listener, "connection")) as [Socket]
  const [hello] = (await once(socket, "data")) as [Buffer]
  socket.destroy()
  client.destroy()
  listener.close()
  return hello
}

/** A connection of a client that has sent `bytes`. It reads the answer and sends nothing more. */
export interface SilentClient {
  readonly socket: Socket
  /** Everything that was received so far, as Latin-1. */
  text(): string
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<unknown>
}

function watched(socket: Socket): SilentClient {
  let text = ""
  socket.on("data", (bytes: Buffer) => (text = (text + bytes.toString("latin1")).slice(-10_000)))
  socket.on("error", () => undefined)
  return { socket, text: () => text, closed: new Promise((resolve) => socket.once("close", resolve)) }
}

export async function tcpClient(port: number, bytes: Uint8Array = Buffer.alloc(0)): Promise<SilentClient> {
  const socket = connectTcp(port, "127.0.0.1")
  const client = watched(socket)
  await once(socket, "connect")
  socket.write(bytes)
  return client
}

export async function tlsClient(
  port: number,
  bytes: string | Uint8Array,
  { protocol = "http/1.1", as }: { readonly protocol?: "http/1.1" | "h2"; readonly as?: Identity } = {},
): Promise<SilentClient> {
  const socket = connectTls({
    host: "127.0.0.1",
    port,
    rejectUnauthorized: false,
    ALPNProtocols: [protocol],
    ...as?.tls,
  })
  const client = watched(socket)
  await once(socket, "secureConnect")
  socket.write(bytes)
  return client
}

/** The head of an HTTP/1.1 request, with its empty line. */
export const head = (method: string, path: string, headers: Readonly<Record<string, string>> = {}): string =>
  `${method} ${path} HTTP/1.1\r\nHost: k3ts\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`
