import { Duplex } from "node:stream"
import { errorMessage } from "../../../../../pkg/errors/error-message.ts"

/** One connection to a port of a pod through port forwarding. */
export interface PortConnection {
  readonly data: Duplex
  /** Resolves when the connection has ended, with the error message; empty when there was no error. */
  readonly error: Promise<string>
}

interface HttpMessage {
  readonly method: string
  readonly path: string
  readonly headers: readonly (readonly [string, string])[]
  /** Undefined until the whole body has arrived. */
  readonly body: Buffer | undefined
}

const END_OF_HEAD = "\r\n\r\n"
const BODILESS: readonly string[] = ["GET", "HEAD"]

/**
 * Answers one HTTP/1.1 request, the only protocol that a simulated port supports. `dial` rejects when no container
 * listens.
 */
export function httpConnection(
  port: number,
  send: (request: Request) => Promise<Response>,
  dial: () => Promise<unknown>,
): PortConnection {
  const error = Promise.withResolvers<string>()
  let received = Buffer.alloc(0)
  let answered = false
  let continued = false
  let over = false
  const finish = (message: string): void => {
    if (over) return
    answered = over = true
    data.push(null)
    error.resolve(message)
  }
  const failed = (err: unknown): void => finish(`an error occurred forwarding ${port}: ${errorMessage(err)}`)

  async function respond({ method, path, headers, body }: HttpMessage): Promise<void> {
    try {
      const response = await send(
        new Request(`http://localhost:${port}${path}`, {
          method,
          headers: headers.map(([name, value]): [string, string] => [name, value]),
          ...(BODILESS.includes(method) || body === undefined ? {} : { body: new Uint8Array(body) }),
        }),
      )
      const bytes = Buffer.from(await response.arrayBuffer())
      const lines = [...response.headers]
        .filter(([name]) => name !== "content-length" && name !== "transfer-encoding")
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join("")
      data.push(
        `HTTP/1.1 ${response.status} ${response.statusText || "OK"}\r\n${lines}content-length: ` +
          `${bytes.length}\r\nconnection: close${END_OF_HEAD}`,
      )
      if (method !== "HEAD") data.push(bytes)
      finish("")
    } catch (err) {
      failed(err)
    }
  }
  function take(): void {
    try {
      const message = read(received)
      if (message?.body !== undefined) {
        answered = true
        void respond(message)
      } else if (message !== undefined && !continued && valueOf(message.headers, "expect") === "100-continue") {
        continued = true
        data.push(`HTTP/1.1 100 Continue${END_OF_HEAD}`)
      }
    } catch (err) {
      failed(err)
    }
  }
  const data: Duplex = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      received = Buffer.concat([received, chunk])
      done()
      if (!answered) take()
    },
    final(done) {
      if (!answered) finish("")
      done()
    },
  })
  dial().catch(failed)
  return { data, error: error.promise }
}

const valueOf = (headers: HttpMessage["headers"], wanted: string): string | undefined =>
  headers.find(([name]) => name.toLowerCase() === wanted)?.[1].toLowerCase()

/** Parses the request that has arrived so far; returns undefined until its head is complete. */
function read(received: Buffer): HttpMessage | undefined {
  const end = received.indexOf(END_OF_HEAD)
  if (end < 0) return undefined
  const [line = "", ...rest] = received.toString("latin1", 0, end).split("\r\n")
  const [method = "GET", path = "/"] = line.split(" ")
  const headers = rest.map(
    (header) => [header.slice(0, header.indexOf(":")), header.slice(header.indexOf(":") + 1).trim()] as const,
  )
  const after = received.subarray(end + END_OF_HEAD.length)
  if (valueOf(headers, "transfer-encoding") === "chunked") return { method, path, headers, body: joined(after) }
  const length = Number(valueOf(headers, "content-length") ?? 0)
  return { method, path, headers, body: after.length < length ? undefined : after.subarray(0, length) }
}

/** Joins the chunks of a chunked body; returns undefined until the last one has arrived. */
function joined(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = []
  for (let at = 0; ;) {
    const line = bytes.indexOf("\r\n", at)
    if (line < 0) return undefined
    const size = Number.parseInt(bytes.toString("latin1", at, line), 16)
    if (size === 0) return Buffer.concat(parts)
    if (!(size > 0)) throw new Error("malformed chunked encoding")
    const next = line + 2 + size + 2
    if (bytes.length < next) return undefined
    parts.push(bytes.subarray(line + 2, next - 2))
    at = next
  }
}
