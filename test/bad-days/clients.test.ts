import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { Agent, request } from "node:https"
import { connect as connectTcp, type Socket } from "node:net"
import { connect as connectTls, type TLSSocket } from "node:tls"
import { ownTime } from "../harness/own-time.ts"
import { startServer, type TestServer } from "../harness/server.ts"

const NAMESPACE = "/api/v1/namespaces/default"
const configMap = (name: string, bytes = 10) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, labels: { test: "bad-days" } },
  data: { text: "x".repeat(bytes) },
})
const MIB = 1024 * 1024

/** A watch that counts events; `seen(n)` resolves when there were `n`. */
function watch(
  server: TestServer,
  path: string,
  agent: Agent,
): Promise<{ seen(count: number): Promise<void>; close(): void; readonly ended: boolean }> {
  return new Promise((resolve, reject) => {
    let [count, ended] = [0, false]
    const waiting: { readonly count: number; readonly resolve: () => void }[] = []
    const req = request(
      {
        agent,
        host: "127.0.0.1",
        port: server.port,
        path,
        rejectUnauthorized: false,
        headers: { authorization: `Bearer ${server.token}` },
      },
      (res) => {
        let rest = ""
        res.on("data", (bytes: Buffer) => {
          const lines = (rest + bytes.toString()).split("\n")
          rest = lines.pop()!
          count += lines.length
          for (const waiter of waiting) if (count >= waiter.count) waiter.resolve()
        })
        res.on("close", () => (ended = true))
        resolve({
          seen: (wanted) =>
            count >= wanted ? Promise.resolve() : new Promise((done) => waiting.push({ count: wanted, resolve: done })),
          close: () => req.destroy(),
          get ended() {
            return ended
          },
        })
      },
    )
    req.on("error", (err) => (ended ? undefined : reject(err)))
    req.end()
  })
}

async function tls(server: TestServer): Promise<TLSSocket> {
  const socket = connectTls({
    host: "127.0.0.1",
    port: server.port,
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
  })
  socket.on("error", () => undefined)
  await once(socket, "secureConnect")
  return socket
}

describe("a server with difficult clients", () => {
  let server: TestServer
  beforeAll(async () => void (server = await startServer()))
  afterAll(() => server[Symbol.asyncDispose]())

  test("sends every write to 500 watches", async () => {
    const agent = new Agent({ maxSockets: Infinity })
    const watches = await Promise.all(
      Array.from({ length: 500 }, () =>
        watch(server, `${NAMESPACE}/configmaps?watch=true&labelSelector=test%3Dbad-days`, agent),
      ),
    )
    for (let i = 0; i < 50; i++)
      expect((await server.send("POST", `${NAMESPACE}/configmaps`, configMap(`watched-${i}`))).status).toBe(201)
    await Promise.all(watches.map((one) => one.seen(50)))
    for (const one of watches) one.close()
    expect(
      (await server.send("DELETE", `${NAMESPACE}/configmaps?labelSelector=test%3Dbad-days`, undefined)).status,
    ).toBe(200)
  }, 60_000)

  test("disconnects a client that does not read, instead of buffering for it", async () => {
    // given a watch whose client stops reading, and one that reads
    const agent = new Agent()
    const deaf = await tls(server)
    deaf.write(
      `GET ${NAMESPACE}/configmaps?watch=true HTTP/1.1\r\nHost: k3ts\r\nAuthorization: Bearer ${server.token}\r\n\r\n`,
    )
    await once(deaf, "data")
    deaf.pause()
    const reader = await watch(server, `${NAMESPACE}/configmaps?watch=true&labelSelector=test%3Dbad-days`, agent)
    const before = server.residentMb()
    // when 150 MB of events come
    await server.send("POST", `${NAMESPACE}/configmaps`, configMap("large", MIB / 2))
    for (let i = 0; i < 300; i++)
      expect(
        (
          await server.send("PUT", `${NAMESPACE}/configmaps/large`, {
            ...configMap("large", MIB / 2),
            data: { text: "y".repeat(MIB / 2), i: String(i) },
          })
        ).status,
      ).toBe(200)
    // then the reader gets all, the other is gone, and memory holds not what it did not read
    await reader.seen(301)
    reader.close()
    const open = async () => {
      const lines = (await server.get("/metrics")).body
        .toString()
        .split("\n")
        .filter(
          (line) =>
            line.startsWith("apiserver_longrunning_requests{") &&
            line.includes('resource="configmaps"') &&
            line.includes('scope="namespace"'),
        )
      return lines.length === 0 ? undefined : lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0)
    }
    while ((await open())! > 0) await Bun.sleep(10)
    expect(await open()).toBe(0)
    console.info(
      `memory: ${before.toFixed(0)} MB before, ${server.residentMb().toFixed(0)} MB after 150 MB of events ` +
        "that a client did not read",
    )
    deaf.destroy()
    await server.send("DELETE", `${NAMESPACE}/configmaps/large`, undefined)
  }, 60_000)

  test("serves others despite connections that send nothing, or incomplete requests", async () => {
    const silent: Socket[] = []
    for (let i = 0; i < 200; i++) {
      const socket = connectTcp(server.port, "127.0.0.1")
      socket.on("error", () => undefined)
      silent.push(socket)
    }
    for (let i = 0; i < 30; i++) {
      const halfHead = await tls(server)
      halfHead.write("GET /api/v1/pods HTTP/1.1\r\nHost: k3ts\r\nX-Never-Ends: ")
      const halfBody = await tls(server)
      halfBody.write(
        `POST ${NAMESPACE}/configmaps HTTP/1.1\r\nHost: k3ts\r\nAuthorization: Bearer ${server.token}\r\n` +
          `Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"apiVersion":`,
      )
      const gone = await tls(server)
      gone.write(
        `POST ${NAMESPACE}/configmaps HTTP/1.1\r\nHost: k3ts\r\nAuthorization: Bearer ${server.token}\r\n` +
          `Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"api`,
      )
      gone.resetAndDestroy()
      silent.push(halfHead, halfBody)
    }
    expect((await server.get("/readyz")).status).toBe(200)
    expect((await server.send("POST", `${NAMESPACE}/configmaps`, configMap("beside"))).status).toBe(201)
    // Half-written requests take no place among those in flight.
    expect(
      (await Promise.all(Array.from({ length: 50 }, () => server.get(`${NAMESPACE}/configmaps/beside`)))).every(
        ({ status }) => status === 200,
      ),
    ).toBe(true)
    for (const socket of silent) socket.destroy()
  }, 60_000)

  test("refuses a body over 3 MiB with 413, and serves two hundred objects of a mebibyte", async () => {
    const answer = await server.send("POST", `${NAMESPACE}/configmaps`, configMap("huge", 3 * MIB + 1))
    expect(answer.status).toBe(413)
    expect(JSON.parse(answer.body.toString())).toMatchObject({ kind: "Status", reason: "RequestEntityTooLarge" })
    expect((await server.send("POST", `${NAMESPACE}/configmaps`, configMap("large", 1.5 * MIB))).status).toBe(422)
    const bytes = MIB - 100
    for (let i = 0; i < 200; i++)
      expect((await server.send("POST", `${NAMESPACE}/configmaps`, configMap(`large-${i}`, bytes))).status).toBe(201)
    const list = await server.get(`${NAMESPACE}/configmaps?labelSelector=test%3Dbad-days`)
    expect(list.status).toBe(200)
    expect(list.body.length).toBeGreaterThan(200 * bytes)
    const page = JSON.parse((await server.get(`${NAMESPACE}/configmaps?limit=3`)).body.toString()) as {
      items: unknown[]
      metadata: { continue?: string }
    }
    expect([page.items.length, typeof page.metadata.continue]).toEqual([3, "string"])
    console.info(`memory: ${server.residentMb().toFixed(0)} MB with 200 MB of objects, after a list of all`)
    expect(
      (await server.send("DELETE", `${NAMESPACE}/configmaps?labelSelector=test%3Dbad-days`, undefined)).status,
    ).toBe(200)
  }, 120_000)

  test("has logged no failure of its own", () => {
    expect(server.alive).toBe(true)
    expect(server.output()).not.toMatch(/Contained a failure/)
  })
})

describe("a server that gets SIGTERM", () => {
  test(
    "under heavy writes and with watches and half-open connections ends within 5 s with exit 0, and keeps all " +
      "that it acknowledged",
    async () => {
      await using server = await startServer()
      const agent = new Agent({ maxSockets: Infinity })
      for (let i = 0; i < 20; i++) await watch(server, `${NAMESPACE}/configmaps?watch=true`, agent)
      for (let i = 0; i < 20; i++) await tls(server)
      const taken: string[] = []
      const writers = Array.from({ length: 32 }, async (_, writer) => {
        for (let i = 0; ; i++) {
          const name = `w${writer}-${i}`
          const answer = await server.send("POST", `${NAMESPACE}/configmaps`, configMap(name)).catch(() => undefined)
          if (answer?.status === 201) taken.push(name)
          else if (answer === undefined || answer.status === 503) return
          else throw new Error(`${answer.status}: ${answer.body.toString()}`)
        }
      })
      while (taken.length < 500) await Bun.sleep(5)
      const time = ownTime(server.pid)
      expect(await server.kill("SIGTERM")).toBe(0)
      expect(time.read()).toBeLessThan(5000)
      await Promise.all(writers)
      expect(server.output()).not.toMatch(/Contained a failure|Gave up|Failed to stop a component/)
      await using again = await startServer({ dataDir: server.dataDir })
      const { items } = JSON.parse((await again.get(`${NAMESPACE}/configmaps`)).body.toString()) as {
        items: { metadata: { name: string } }[]
      }
      const found = new Set(items.map(({ metadata }) => metadata.name))
      expect(taken.filter((name) => !found.has(name))).toEqual([])
    },
    60_000,
  )
})

/** `npm run test:long` makes 20,000. */
const MANY = Number(process.env["K3TS_MANY_OBJECTS"] ?? 5000)

describe("a server with many objects", () => {
  test(`starts again with ${MANY} of them`, async () => {
    await using server = await startServer()
    let next = 0
    const from = performance.now()
    await Promise.all(
      Array.from({ length: 32 }, async () => {
        while (next < MANY)
          expect((await server.send("POST", `${NAMESPACE}/configmaps`, configMap(`many-${next++}`, 100))).status).toBe(
            201,
          )
      }),
    )
    const created = (performance.now() - from) / 1000
    const memory = server.residentMb()
    await server.kill("SIGKILL")
    const again = await startServer({ dataDir: server.dataDir })
    const list = JSON.parse((await again.get(`${NAMESPACE}/configmaps?limit=1&labelSelector=`)).body.toString()) as {
      metadata: { remainingItemCount?: number }
    }
    expect(list.metadata.remainingItemCount).toBe(MANY) // and kube-root-ca.crt
    console.info(
      `${MANY} ConfigMaps: made in ${created.toFixed(1)} s; ${memory.toFixed(0)} MB resident; after SIGKILL ` +
        `ready in ${again.readyAfter.toFixed(2)} s with ${again.residentMb().toFixed(0)} MB`,
    )
    await again.kill("SIGTERM")
  }, 180_000)
})
