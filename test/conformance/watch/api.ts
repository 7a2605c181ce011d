import { Agent, request } from "node:https"
import { send } from "../../harness/server.ts"

/** An API server on this machine. Its certificate is not verified. */
export interface Target {
  readonly port: number
  readonly token: string
}

/** An object as JSON; only the fields that this test reads have types. */
export interface Sent {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly resourceVersion: string
    readonly continue?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly items?: readonly Sent[]
  readonly spec?: { readonly color?: string }
  readonly status?: { readonly phase?: string }
  readonly reason?: string
  readonly code?: number
  readonly message?: string
}

/** One line of a watch. */
export interface WatchLine {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR"
  readonly object: Sent
}

/** Sends requests over connections that are kept alive. Each watch has its own connection, so that it can be cut. */
export class Api implements Disposable {
  readonly #target: Target
  readonly #connections = new Agent({ keepAlive: true, maxSockets: 100 })

  constructor(target: Target) {
    this.#target = target
  }

  /** Sends a request, and repeats it while the server answers 429 (too many requests). */
  async send(method: string, path: string, body?: unknown, type = "application/json") {
    const { port, token } = this.#target
    const headers = { authorization: `Bearer ${token}`, "content-type": type }
    for (;;) {
      const text = body === undefined ? undefined : JSON.stringify(body)
      const answer = await send(this.#connections, port, method, path, headers, text)
      if (answer.status !== 429) return { code: answer.status, body: JSON.parse(answer.body.toString()) as Sent }
    }
  }

  /**
   * Watches until `line` returns false, and then cuts the connection, possibly in the middle of a line. `over` resolves
   * when the connection was cut or the server ended the watch. A refused watch is reported as a line of type ERROR.
   */
  watch(path: string, accept: string, line: (line: WatchLine) => boolean) {
    const { port, token } = this.#target
    const headers = { authorization: `Bearer ${token}`, accept }
    const { promise: over, resolve } = Promise.withResolvers<void>()
    const agent = new Agent({ keepAlive: false })
    let isOver = false
    const req = request({ agent, host: "127.0.0.1", port, path, headers, rejectUnauthorized: false }, (res) => {
      const decoder = new TextDecoder()
      let rest = ""
      res.on("data", (bytes: Buffer) => {
        const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n")
        rest = lines.pop()!
        for (const text of lines) {
          if (isOver) return
          const parsed = JSON.parse(text) as WatchLine | Sent
          if (!line("type" in parsed ? parsed : { type: "ERROR", object: parsed })) cut()
        }
      })
      res.on("error", () => cut())
      res.on("close", () => {
        if (!isOver && res.statusCode !== 200 && rest !== "") line({ type: "ERROR", object: JSON.parse(rest) as Sent })
        cut()
      })
    })
    const cut = () => {
      isOver = true
      req.destroy()
      resolve()
    }
    req.on("error", cut)
    req.end()
    return { over, cut }
  }

  [Symbol.dispose](): void {
    this.#connections.destroy()
  }
}
