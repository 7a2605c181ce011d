/** A client that knows several servers, for tests in which servers come and go. */
import { Agent, request } from "node:https"

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"

export interface ServerPlace {
  readonly host: string
  readonly port: number
}

interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
}
/** "refused": the server cannot have seen the request. */
type Outcome = Answer | "refused" | Error

/** Sends one request over a kept connection, if there is one. */
function ask(
  agent: Agent,
  { host, port }: ServerPlace,
  token: string,
  method: string,
  path: string,
  body?: string,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
    const sent = request({ agent, host, port, method, path, headers, rejectUnauthorized: false }, (res) => {
      res.resume()
      res.once("error", resolve)
      res.once("end", () => resolve({ status: res.statusCode ?? 0, retryAfter: res.headers["retry-after"] }))
    })
    let isSent = true
    sent.once("socket", (socket) => {
      if (!socket.connecting) return
      isSent = false
      socket.once("secureConnect", () => (isSent = true))
    })
    sent.once("error", (err) => resolve(isSent ? err : "refused"))
    sent.end(body)
  })
}

/** Goes to the next server with each request, and past one that takes none. */
export class AlternatingClient {
  readonly failures: string[] = []
  #answered = 0
  readonly #agents: readonly { readonly agent: Agent; readonly place: ServerPlace }[]
  readonly #token: string
  #next = 0
  #waiting: { readonly count: number; readonly resolve: () => void } | undefined

  constructor(places: readonly ServerPlace[], token: string) {
    this.#agents = places.map((place) => ({ agent: new Agent({ keepAlive: true }), place }))
    this.#token = token
  }

  get answered(): number {
    return this.#answered
  }

  /** Resolves when that many requests have been answered. */
  async untilAnswered(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting = { count, resolve }
    await promise
  }

  /** Works until `signal` aborts: creates, reads and deletes objects of its own. */
  async run(name: string, signal: AbortSignal): Promise<void> {
    for (let i = 0; !signal.aborted; i++) {
      const path = `${CONFIG_MAPS}/${name}-${i}`
      await this.#expect(201, "POST", CONFIG_MAPS, JSON.stringify({ metadata: { name: `${name}-${i}` } }))
      await this.#expect(200, "GET", path)
      await this.#expect(200, "DELETE", path)
    }
  }

  close(): void {
    for (const { agent } of this.#agents) agent.destroy()
  }

  async #expect(status: number, method: string, path: string, body?: string): Promise<void> {
    const first = this.#next++
    for (let tries = 0; tries < 2 * this.#agents.length; tries++) {
      const { agent, place } = this.#agents[(first + tries) % this.#agents.length]!
      const outcome = await ask(agent, place, this.#token, method, path, body)
      if (outcome === "refused") continue
      // A server that starts or stops says that it has done nothing.
      if (!(outcome instanceof Error) && outcome.status === 503 && outcome.retryAfter !== undefined) continue
      if (!(outcome instanceof Error) && outcome.status === status) {
        this.#answered++
        if (this.#answered >= (this.#waiting?.count ?? Infinity)) this.#waiting!.resolve()
      } else
        this.failures.push(
          `${method} ${path} at ${place.host}:${place.port}: ${String(outcome instanceof Error ? outcome : outcome.status)}`,
        )
      return
    }
    this.failures.push(`${method} ${path}: no server takes it`)
  }
}
