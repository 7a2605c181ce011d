/** One request of HTTP/1.1 without its connection and user: those are the server's. */
export interface Sent {
  readonly method: "GET" | "POST" | "PUT" | "PATCH"
  readonly path: string
  readonly body?: unknown
}

/** Kept connections to one server. They cost this process little, so that the server is what limits the rate. */
export interface Connections {
  /** Sends `count` requests, each connection its next one when it has the answer. Throws when an answer is not 2xx. */
  send(count: number, request: (index: number) => Sent): Promise<void>
  close(): void
}

/** A server on 127.0.0.1, and as whom requests are sent to it: a `TestServer` is one, for the administrator. */
export interface Client {
  readonly port: number
  /** A bearer token. */
  readonly token?: string
  readonly certificate?: { readonly cert: string; readonly key: string }
}

export async function openConnections(client: Client, count: number): Promise<Connections> {
  const opened = await Promise.all(Array.from({ length: count }, () => open(client)))
  let sent = 0 // over all calls, so that no two requests are the same
  return {
    async send(count, request) {
      const end = sent + count
      await Promise.all(
        opened.map(async (connection) => {
          while (sent < end) await connection.exchange(bytesOf(request(sent++), client))
        }),
      )
    },
    close: () => opened.forEach((connection) => connection.close()),
  }
}

function bytesOf({ method, path, body }: Sent, { port, token }: Client): string {
  const text = body === undefined ? "" : JSON.stringify(body)
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json"
  const content = body === undefined ? "" : `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`
  const user = token === undefined ? "" : `Authorization: Bearer ${token}\r\n`
  return `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${user}${content}\r\n${text}`
}

interface Connection {
  exchange(request: string): Promise<void>
  close(): void
}

function open({ port, certificate }: Client): Promise<Connection> {
  return new Promise((opened, reject) => {
    let answer = new Answer()
    let [answered, failed]: [() => void, (err: Error) => void] = [() => undefined, reject]
    let isClosed = false
    const exchange = (socket: Bun.Socket, request: string) =>
      new Promise<void>((resolve, reject) => {
        if (isClosed) throw new Error("The server has closed a connection")
        answer = new Answer()
        answered = resolve
        failed = reject
        socket.write(request)
      })
    Bun.connect({
      hostname: "127.0.0.1",
      port,
      tls: { rejectUnauthorized: false, ...certificate },
      socket: {
        handshake: (socket) => opened({ exchange: (request) => exchange(socket, request), close: () => socket.end() }),
        data(_socket, chunk) {
          if (!answer.takes(chunk)) return
          if (answer.succeeded) answered()
          else failed(new Error(`The server answered: ${answer.text}`))
        },
        close() {
          isClosed = true
          failed(new Error("The server has closed a connection"))
        },
      },
    }).catch(reject)
  })
}

/** The bytes that have come of one answer, which has a Content-Length. */
class Answer {
  #text = ""
  /** Bytes of head and body together. */
  #length = Infinity

  /** Takes bytes that came, and returns whether the answer is whole with them. */
  takes(chunk: Buffer): boolean {
    this.#text += chunk.toString("latin1")
    if (this.#length === Infinity) {
      const head = this.#text.indexOf("\r\n\r\n")
      const length = /\r\ncontent-length: (\d+)\r/i.exec(this.#text)?.[1]
      if (head !== -1) this.#length = head + 4 + Number(length)
    }
    return !(this.#text.length < this.#length)
  }

  get succeeded(): boolean {
    return this.#text.startsWith("HTTP/1.1 2")
  }

  get text(): string {
    return this.#text
  }
}
