import { freePort } from "../../../pkg/runtime/free-port.fixtures.ts"
import { afterEach, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { realClock } from "../../../pkg/clock/real.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import type { Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import { loopbackServing, openLocalServers } from "./local-servers.ts"
import { ProxyHealth, type ProxiedNode } from "./proxy-health.ts"

const HOST = "127.0.0.1"
const NODE: ProxiedNode = { metadata: { name: "node-0" }, spec: {} }
const ended: (() => void)[] = []
afterEach(() => ended.splice(0).forEach((end) => end()))

/** Servers of a proxy with rules for IPv4. Without ports they are at free ones. */
async function opened(given: { healthzPort?: number; retries?: VirtualClock } = {}) {
  const { healthzPort = await freePort(), retries = realClock } = given
  const statusPort = await freePort()
  const metrics = new Registry()
  metrics.counter("apiserver_secrets_total", "Of another component").with().inc()
  const health = new ProxyHealth(realClock)
  health.updated("IPv4")
  const logged: { readonly message: string; readonly fields: Readonly<Record<string, unknown>> }[] = []
  const hasLogged: (() => void)[] = []
  const note = (message: string, fields: Readonly<Record<string, unknown>> = {}) => {
    logged.push({ message, fields })
    hasLogged.splice(0).forEach((wake) => wake())
  }
  const state = { node: NODE as ProxiedNode | undefined }
  const close = openLocalServers({
    serving: { health: [{ host: HOST, port: healthzPort }], status: [{ host: HOST, port: statusPort }] },
    mode: "nftables",
    health,
    node: () => state.node,
    metrics,
    clock: retries,
    log: { warn: note, info: note } as unknown as Logger,
  })
  ended.push(close)
  return {
    state,
    logged,
    nextLog: () => new Promise<void>((resolve) => hasLogged.push(resolve)),
    close,
    healthzPort,
    health: (path: string, init?: RequestInit) => fetch(`http://${HOST}:${healthzPort}${path}`, init),
    status: (path: string, init?: RequestInit) => fetch(`http://${HOST}:${statusPort}${path}`, init),
  }
}

describe("the health server of kube-proxy", () => {
  test("answers 200 with the health of the node's proxy, and 503 for a node that is to be deleted", async () => {
    const servers = await opened()
    const healthz = await servers.health("/healthz?why=not")
    expect([healthz.status, healthz.statusText, healthz.headers.get("content-type")]).toEqual([
      200,
      "OK",
      "application/json",
    ])
    const body = (await healthz.json()) as Record<string, unknown>
    expect(Object.keys(body)).toEqual(["lastUpdated", "currentTime", "nodeEligible", "healthy", "status"])
    expect(body).toMatchObject({ nodeEligible: true, healthy: true, status: { IPv4: { healthy: true } } })
    // when the node is gone
    servers.state.node = undefined
    // then only /healthz says so
    expect((await servers.health("/healthz")).status).toBe(503)
    const livez = await servers.health("/livez")
    expect([livez.status, Object.keys((await livez.json()) as object)]).toEqual([
      200,
      ["lastUpdated", "currentTime", "healthy", "status"],
    ])
    // and answers are counted
    const figures = await (await servers.status("/metrics")).text()
    expect(figures).toContain('kubeproxy_proxy_healthz_total{code="200"} 1\n')
    expect(figures).toContain('kubeproxy_proxy_healthz_total{code="503"} 1\n')
    expect(figures).toContain('kubeproxy_proxy_livez_total{code="200"} 1\n')
  })

  test("has no other paths and methods", async () => {
    const servers = await opened()
    expect((await servers.health("/")).status).toBe(404)
    expect((await servers.health("/metrics")).status).toBe(404)
    expect((await servers.health("/healthz", { method: "POST", body: "a" })).status).toBe(405)
    const head = await servers.health("/healthz", { method: "HEAD" })
    expect([head.status, await head.text()]).toEqual([200, ""])
  })

  test("is tried again every five seconds where its port is taken, and the other server works", async () => {
    // given
    const healthzPort = await freePort()
    const other = createServer().listen(healthzPort, HOST)
    await once(other, "listening")
    const retries = new VirtualClock(0)
    const servers = await opened({ healthzPort, retries })
    await servers.nextLog()
    const address = `${HOST}:${healthzPort}`
    const refused = { server: "health", address, err: expect.objectContaining({ code: "EADDRINUSE" }) as unknown }
    const warned = { message: "The HTTP server of kube-proxy cannot listen; will retry", fields: refused }
    expect(servers.logged).toEqual([warned])
    expect((await servers.status("/proxyMode")).status).toBe(200)
    // when the port is free
    other.close()
    await once(other, "close")
    const listens = servers.nextLog()
    await retries.advance(5000)
    await listens
    // then
    expect(servers.logged.slice(1)).toEqual([
      { message: "The HTTP server of kube-proxy listens now", fields: { server: "health", address } },
    ])
    expect((await servers.health("/healthz")).status).toBe(200)
  })

  test("closes its port and its connections at once", async () => {
    // given a client that has sent nothing yet
    const servers = await opened()
    const client = connect(servers.healthzPort, HOST)
    await once(client, "connect")
    await servers.health("/livez")
    // when
    servers.close()
    await endOf(client)
    // then another program can have the port
    const next = createServer().listen(servers.healthzPort, HOST)
    await once(next, "listening")
    next.close()
  })
})

describe("the status server of kube-proxy", () => {
  test.each([
    ["/proxyMode", 200, "nftables"],
    ["/healthz", 200, "ok"],
    ["/healthz/ping", 200, "ok"],
    ["/healthz?verbose", 200, "[+]ping ok\nhealthz check passed\n"],
    ["/livez", 404, "404 page not found\n"],
    ["/configz", 404, "404 page not found\n"],
  ])("answers %s with %i", async (path, status, body) => {
    const answer = await (await opened()).status(path)
    expect([answer.status, await answer.text()]).toEqual([status, body])
  })

  test("shows the metrics of kube-proxy, and not those of other components of the process", async () => {
    const servers = await opened()
    const answer = await servers.status("/metrics")
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
    expect(await answer.text()).not.toContain("apiserver_")
  })
})

describe("a client of these servers", () => {
  test.each([
    { who: "sends a head that is too long", bytes: `GET /healthz HTTP/1.1\r\nA: ${"a".repeat(9000)}`, wants: "" },
    { who: "does not speak HTTP", bytes: "hello\r\n\r\n", wants: "HTTP/1.1 400 Bad Request" },
  ])("that $who is disconnected", async ({ bytes, wants }) => {
    const { healthzPort } = await opened()
    const client = connect(healthzPort, HOST, () => client.write(bytes))
    expect((await endOf(client)).split("\r\n", 1)).toEqual([wants])
  })

  test("that sends nothing is disconnected after five seconds", async () => {
    const clock = new VirtualClock(0)
    const { healthzPort, health } = await opened({ retries: clock })
    const client = connect(healthzPort, HOST)
    const end = endOf(client)
    // given that the server knows of it, since it came before another one that has got an answer
    await once(client, "connect")
    await health("/livez")
    // when
    await clock.advance(5000)
    // then
    expect(await end).toBe("")
  })

  test("is refused while 64 others are connected", async () => {
    const { healthzPort, health } = await opened()
    const clients = Array.from({ length: 64 }, () => connect(healthzPort, HOST))
    await Promise.all(clients.map((client) => once(client, "connect")))
    await expect(health("/livez")).rejects.toThrow()
    for (const client of clients) client.destroy()
  })
})

test("kube-proxy serves loopback alone, that of IPv6 where the cluster has no other family", () => {
  const hostsOf = (families: readonly Family[]) => {
    const { health, status } = loopbackServing(families)
    return [health, status].map((all) => all.map(({ host, port }) => `${host} ${port}`))
  }
  expect(hostsOf(["IPv4", "IPv6"])).toEqual([[`${HOST} 10256`], [`${HOST} 10249`]])
  expect(hostsOf(["IPv6"])).toEqual([
    [`${HOST} 10256`, "::1 10256"],
    [`${HOST} 10249`, "::1 10249"],
  ])
})

/** Returns what a connection received when it has ended. */
async function endOf(socket: Socket): Promise<string> {
  let received = ""
  socket.on("data", (bytes: Buffer) => (received += bytes.toString("latin1")))
  socket.on("error", () => {})
  await new Promise((resolve) => socket.on("close", resolve))
  return received
}
