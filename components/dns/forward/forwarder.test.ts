import { afterEach, expect, test } from "bun:test"
import { createSocket } from "node:dgram"
import { decode, encode, type Packet } from "dns-packet"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { createLogger } from "../../../pkg/log/log.ts"
import { CACHE_DEFAULTS } from "../config/read-zone.ts"
import type { ForwardOptions } from "../config/zone.ts"
import { ADDRESS, fakeServer, query, type FakeServer } from "../dns.fixtures.ts"
import { DnsMetrics } from "../metrics.ts"
import { FLAG, readQuery, type Query } from "../wire/query.ts"
import { questionOf } from "../wire/question.ts"
import { AnswerCache } from "./answer-cache.ts"
import { Forwarder, type NotPassed } from "./forwarder.ts"

const closing: (() => Promise<void>)[] = []
afterEach(async () => void (await Promise.all(closing.splice(0).map((close) => close()))))

const answerOf = (data: string): Packet => ({
  answers: [{ name: "a.example", type: "A", ttl: 60, class: "IN", data }],
})

async function server(answer: Parameters<typeof fakeServer>[0]): Promise<FakeServer> {
  const made = await fakeServer(answer)
  closing.push(() => made.close())
  return made
}

/** Returns a forwarder to servers on these ports of loopback, in this order. */
function forwarderTo(ports: readonly number[], options: Partial<ForwardOptions> = {}) {
  const clock = new VirtualClock(0)
  const log = createLogger({ clock, format: "text", level: "error", write: () => undefined })
  const forwarder = new Forwarder(
    {
      from: "",
      except: [],
      servers: ports.map((port) => ({ address: ADDRESS, port })),
      protocol: "client",
      policy: "sequential",
      maxFails: 2,
      maxConcurrent: 8,
      ...options,
    },
    new AnswerCache(clock, CACHE_DEFAULTS),
    { clock, random: systemRandom, log, metrics: new DnsMetrics() },
  )
  const ask = async (name: string, from = "10.0.0.1", protocol: "udp" | "tcp" = "udp") => {
    const asked = readQuery(encode(query(name, "A")), { address: from, protocol }) as Query
    return seen(await forwarder.ask(questionOf(asked), asked.client))
  }
  return { forwarder, clock, ask }
}

/** Returns the first address of an answer. */
function seen(passed: NotPassed | { readonly message: Buffer }): string {
  if (typeof passed === "string") return passed
  const [first] = decode(passed.message).answers ?? []
  return first?.type === "A" ? first.data : "none"
}

/** Advances virtual time until a promise settles that waits for silent servers. */
async function patiently<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let isSettled = false
  const settled = promise.finally(() => (isSettled = true))
  while (!isSettled) {
    await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(100)
  }
  return settled
}

test("an answer is cached, and clients that ask at the same time share one query", async () => {
  const { port, asked } = await server(() => answerOf("10.9.9.1"))
  const { ask } = forwarderTo([port])
  expect(await Promise.all([ask("a.example"), ask("A.Example"), ask("a.example", "10.0.0.2")])).toEqual([
    "10.9.9.1",
    "10.9.9.1",
    "10.9.9.1",
  ])
  expect(await ask("a.example")).toBe("10.9.9.1")
  expect(asked).toHaveLength(1)
})

test("a truncated answer over UDP is fetched again over TCP", async () => {
  const { port, asked } = await server((_, protocol) =>
    protocol === "udp" ? { flags: FLAG.truncated } : answerOf("10.9.9.1"),
  )
  expect(await forwarderTo([port]).ask("a.example")).toBe("10.9.9.1")
  expect(asked).toEqual(["udp A a.example", "tcp A a.example"])
})

test.each([
  { protocol: "client", client: "udp", wants: "udp" },
  { protocol: "client", client: "tcp", wants: "tcp" },
  { protocol: "udp", client: "tcp", wants: "udp" },
  { protocol: "tcp", client: "udp", wants: "tcp" },
] as const)("a client's $client question travels by $wants where $protocol is configured", async (given) => {
  const { port, asked } = await server(() => answerOf("10.9.9.1"))
  await forwarderTo([port], { protocol: given.protocol }).ask("a.example", "10.0.0.1", given.client)
  expect(asked).toEqual([`${given.wants} A a.example`])
})

test("the next server is asked when one is silent, and is asked first after two failures", async () => {
  const silent = await server(() => undefined)
  const well = await server(() => answerOf("10.9.9.2"))
  const { ask, clock } = forwarderTo([silent.port, well.port])
  for (const name of ["a.example", "b.example", "c.example"]) expect(await patiently(clock, ask(name))).toBe("10.9.9.2")
  expect(silent.asked).toEqual(["udp A a.example", "udp A b.example"])
})

test("a server that has failed is tried again after a while", async () => {
  let isWell = false
  const { port, asked } = await server(() => (isWell ? answerOf("10.9.9.1") : undefined))
  const { ask, clock } = forwarderTo([port], { maxFails: 1 })
  expect(await patiently(clock, ask("a.example"))).toBe("unreachable")
  isWell = true
  await clock.advance(10_000)
  expect(await ask("a.example")).toBe("10.9.9.1")
  expect(asked).toHaveLength(2)
})

test("expired answers are served while no server answers, without waiting for servers that are known to fail", async () => {
  let isWell = true
  const { port, asked } = await server(() => (isWell ? answerOf("10.9.9.1") : undefined))
  const { ask, clock } = forwarderTo([port], { maxFails: 1 })
  await ask("a.example")
  isWell = false
  await clock.advance(120_000)
  expect(await patiently(clock, ask("a.example"))).toBe("10.9.9.1")
  expect(await ask("a.example")).toBe("10.9.9.1")
  expect(asked).toHaveLength(2)
})

test("a server on whose port no process listens fails at once", async () => {
  const gone = await fakeServer(() => undefined)
  await gone.close()
  expect(await forwarderTo([gone.port]).ask("a.example")).toBe("unreachable")
})

test("a server without a route to it fails at once", async () => {
  // The kernel refuses to connect to the address of a broadcast, as it does without a route.
  const servers = [{ address: "255.255.255.255", port: 53 }]
  expect(await forwarderTo([], { servers }).ask("a.example")).toBe("unreachable")
})

test("one client can have at most a quarter of the waiting queries, and other clients are still answered", async () => {
  const { port } = await server(({ name }) => (name.startsWith("slow") ? undefined : answerOf("10.9.9.1")))
  const { ask, clock } = forwarderTo([port], { maxFails: 0 })
  const slow = ["slow1.example", "slow2.example"].map((name) => ask(name, "10.0.0.66"))
  expect(await ask("a.example", "10.0.0.66")).toBe("busy")
  expect(await ask("a.example", "10.0.0.1")).toBe("10.9.9.1")
  expect(await patiently(clock, Promise.all(slow))).toEqual(["unreachable", "unreachable"])
  expect(await ask("b.example", "10.0.0.66")).toBe("10.9.9.1")
})

test("an answer with another id, or to another question, is ignored", async () => {
  // given a server whose every answer comes after two that somebody else could have sent
  const socket = createSocket("udp4")
  closing.push(() => new Promise((resolve) => socket.close(() => resolve())))
  socket.on("message", (bytes, from) => {
    const { id = 0, questions = [] } = decode(bytes)
    const send = (packet: Packet) => socket.send(encode({ type: "response", ...packet }), from.port, from.address)
    send({ id: id ^ 1, questions, ...answerOf("6.6.6.6") })
    send({ id, questions: [{ name: "b.example", type: "A" }], ...answerOf("6.6.6.6") })
    send({ id, questions, ...answerOf("10.9.9.1") })
  })
  await new Promise<void>((resolve) => socket.bind(0, ADDRESS, () => resolve()))
  expect(await forwarderTo([socket.address().port]).ask("a.example")).toBe("10.9.9.1")
})

test("a forward applies to its zone, except for the excepted names", () => {
  const { forwarder } = forwarderTo([1], { from: "example", except: ["x.example"] })
  expect(
    ["example", "a.example", "x.example", "y.x.example", "notexample"].filter((name) => forwarder.isFor(name)),
  ).toEqual(["example", "a.example"])
})
