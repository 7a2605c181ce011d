import { describe, expect, test } from "bun:test"
import { Agent, request } from "node:https"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { createHttpsTransport } from "../../pkg/client/https.ts"
import { loadKubeconfig } from "../../pkg/client/kubeconfig.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import { hasEtcd, startEtcd } from "../harness/etcd.ts"
import { freePort, startServer, type TestServer } from "../harness/server.ts"

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
const WORKERS = 6
/** How many requests are answered before, between and after the restarts, beside those during them. */
const REQUESTS = 60

interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
}
/** "refused": the server cannot have seen the request. */
type Outcome = Answer | "refused" | Error

/** Sends one request over a kept connection, if there is one. */
function ask(agent: Agent, port: number, token: string, method: string, path: string, body?: string): Promise<Outcome> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
    const sent = request(
      { agent, host: "127.0.0.1", port, method, path, headers, rejectUnauthorized: false },
      (res) => {
        res.resume()
        res.once("error", resolve)
        res.once("end", () => resolve({ status: res.statusCode ?? 0, retryAfter: res.headers["retry-after"] }))
      },
    )
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

/** A client that knows several servers: it goes to the next one with each request, and past one that takes none. */
class AlternatingClient {
  readonly failures: string[] = []
  #answered = 0
  readonly #agents: readonly { readonly agent: Agent; readonly port: number }[]
  readonly #token: string
  #next = 0
  #waiting: { readonly count: number; readonly resolve: () => void } | undefined

  constructor(ports: readonly number[], token: string) {
    this.#agents = ports.map((port) => ({ agent: new Agent({ keepAlive: true }), port }))
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
      const { agent, port } = this.#agents[(first + tries) % this.#agents.length]!
      const outcome = await ask(agent, port, this.#token, method, path, body)
      if (outcome === "refused") continue
      // A server that starts or stops says that it has done nothing.
      if (!(outcome instanceof Error) && outcome.status === 503 && outcome.retryAfter !== undefined) continue
      if (!(outcome instanceof Error) && outcome.status === status) {
        this.#answered++
        if (this.#answered >= (this.#waiting?.count ?? Infinity)) this.#waiting!.resolve()
      } else
        this.failures.push(
          `${method} ${path} at ${port}: ${String(outcome instanceof Error ? outcome : outcome.status)}`,
        )
      return
    }
    this.failures.push(`${method} ${path}: no server takes it`)
  }
}

describe.skipIf(!hasEtcd)("two servers that are restarted one after the other", () => {
  test("fail no request of a client that knows both, and end its watches in order", async () => {
    // given
    await using etcd = await startEtcd()
    const ports = [await freePort(), await freePort()]
    const start = (place: number, dataDir?: string) =>
      startServer({
        port: ports[place]!,
        ...(dataDir === undefined ? {} : { dataDir }),
        flags: [
          "--datastore-endpoint",
          etcd.endpoint,
          "--token",
          "rolling",
          "--advertise-address",
          `192.0.2.${place + 1}`,
        ],
      })
    const first = await start(0)
    const second = await start(1)
    const servers: TestServer[] = [first, second]
    const client = new AlternatingClient(ports, first.token)
    const ending = new AbortController()
    const working = Array.from({ length: WORKERS }, (_, i) => client.run(`worker-${i}`, ending.signal))
    try {
      await client.untilAnswered(REQUESTS)
      for (const place of [0, 1]) {
        // when
        const { dataDir, kubeconfig } = servers[place]!
        const transport = createHttpsTransport({ config: loadKubeconfig(kubeconfig), userAgent: "k3ts-test/1" })
        const watched = new Promise<string>((resolve) => {
          newClient(transport).watch(
            ConfigMap,
            { namespace: "default" },
            { onEvent: () => undefined, onEnd: (err) => resolve(err?.message ?? "in order") },
          )
        })
        expect(await servers[place]!.kill("SIGTERM")).toBe(0)
        // then
        expect(await watched).toBe("in order")
        transport.close()
        servers[place] = await start(place, dataDir)
        await client.untilAnswered(client.answered + REQUESTS)
      }
    } finally {
      ending.abort()
      await Promise.all(working)
      client.close()
      for (const server of [...servers, first, second]) await server[Symbol.asyncDispose]()
    }
    expect(client.failures).toEqual([])
  }, 60_000)
})
