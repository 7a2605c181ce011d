import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { backend, client, deadPort, startProxy, type TestProxyOptions } from "./proxy.fixtures.ts"
import type { OutgoingRequest } from "../messages/messages.ts"
import { Mirrors } from "./mirrors.ts"
import { Watchdog } from "./watchdog.ts"

const GET = "GET /a?b HTTP/1.1\r\nHost: shop.example\r\n\r\n"
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
const HEAD_END = "\r\n\r\n"
const post = (length: number) => `POST / HTTP/1.1\r\nHost: shop.example\r\nContent-Length: ${length}\r\n\r\n`

/** A proxy with a backend and a mirror, and a client's connection. */
async function through(options: Partial<TestProxyOptions> = {}) {
  const [web, mirror] = [await backend(), await backend()]
  const proxy = await startProxy({ endpoints: [web.port], mirrors: [{ port: mirror.port }], ...options })
  const browser = await client(proxy.port)
  return {
    web,
    mirror,
    browser,
    async [Symbol.asyncDispose]() {
      browser.socket.destroy()
      for (const each of [web, mirror]) each[Symbol.dispose]()
      await proxy[Symbol.asyncDispose]()
    },
  }
}

describe("a mirror", () => {
  test("gets a copy of each request, and its response is dropped", async () => {
    // given
    await using given = await through()
    given.browser.send(`${post(4)}body`)
    const [served, copied] = [await given.web.connection(), await given.mirror.connection()]
    const request = await served.until("body")
    expect(request).toContain("X-Forwarded-Host: shop.example")
    expect(await copied.until("body")).toBe(request)
    // when the mirror answers first
    copied.send("HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\nbad")
    served.send(OK)
    // then
    const answer = await given.browser.until("ok")
    expect(answer).toStartWith("HTTP/1.1 200 OK\r\n")
    expect(answer).not.toContain("bad")
  })

  test("gets chunks and trailers as the client sends them, and its connection is reused", async () => {
    await using given = await through()
    const send = (word: string) =>
      given.browser.send(
        `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n${word}\r\n0\r\nSum: ${word}${HEAD_END}`,
      )
    send("one")
    const peers = [await given.web.connection(), await given.mirror.connection()]
    for (const word of ["one", "two"]) {
      for (const peer of peers) {
        expect(await peer.until(`Sum: ${word}${HEAD_END}`)).toContain(`3\r\n${word}\r\n0\r\n`)
        peer.send(OK)
      }
      await given.browser.until("ok")
      if (word === "one") send("two")
    }
  })

  test("gets its share of the requests, independently of other mirrors", async () => {
    using none = await backend()
    using some = await backend()
    const mirrors = [
      { port: none.port, share: 0 },
      { port: none.port, share: 0.5 },
      { port: some.port, share: 0.51 },
      { port: some.port, share: 1 },
    ]
    await using given = await through({ mirrors, chance: () => 0.5 })
    given.browser.send(GET)
    for (const peer of [await some.connection(), await some.connection()]) await peer.until(HEAD_END)
    const served = await given.web.connection()
    served.send(OK)
    await given.browser.until("ok")
    expect(none.unclaimed).toBe(0)
  })

  test("that reads too slowly loses its copy, and never delays the request", async () => {
    // given
    await using given = await through()
    const body = `${"x".repeat(24 * 1024 * 1024)}end`
    given.browser.send(post(body.length))
    const [served, copied] = [await given.web.connection(), await given.mirror.connection()]
    copied.socket.pause()
    // when
    given.browser.send(body)
    await served.until("end")
    served.send(OK)
    await given.browser.until("ok")
    // then
    copied.socket.resume()
    expect(await copied.untilEnd()).not.toContain("end")
  })

  test("that cannot be reached or never responds does not affect the client", async () => {
    using silent = await backend()
    const mirrors = [{ port: await deadPort() }, { port: silent.port }]
    await using given = await through({ mirrors })
    given.browser.send(GET)
    const served = await given.web.connection()
    for (let i = 0; i < 2; i++) {
      await served.until(HEAD_END)
      served.send(OK)
      await given.browser.until("ok")
      if (i === 0) given.browser.send(GET)
    }
    expect(await (await silent.connection()).until(HEAD_END)).toContain("GET /a?b")
  })

  test("whose response is endless is disconnected", async () => {
    await using given = await through()
    given.browser.send(GET)
    const copied = await given.mirror.connection()
    await copied.until(HEAD_END)
    copied.send(`HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n${"x".repeat(1024 * 1024)}`)
    expect(await copied.untilEnd()).toBe("")
  })

  test("gets an aborted copy when the client aborts the request", async () => {
    await using given = await through()
    given.browser.send(`${post(8)}half`)
    const copied = await given.mirror.connection()
    await copied.until("half")
    given.browser.socket.destroy()
    expect(await copied.untilEnd()).toBe("")
  })

  test("gets no upgrade requests", async () => {
    await using given = await through()
    given.browser.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    const served = await given.web.connection()
    await served.until(HEAD_END)
    served.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello")
    await given.browser.until("hello")
    expect(given.mirror.unclaimed).toBe(0)
  })
})

/** Mirrors whose endpoints never answer, which the routes of any namespace may name. */
function silentMirrors() {
  const endpoint = { address: "192.0.2.1", port: 80, key: "192.0.2.1:80" }
  const all = new Mirrors({
    pick: () => ({ endpoint, protocol: "http1" }),
    connector: { connect: () => () => undefined },
    watchdog: new Watchdog(new VirtualClock(0)),
    chance: () => 0,
  })
  const mirror = { to: { namespace: "mirrors", service: "silent", port: 80 }, share: 1 }
  const request: OutgoingRequest = {
    method: "POST",
    target: "/",
    authority: "a",
    fields: [],
    framing: { kind: "chunked" },
    upgrade: undefined,
    isSecure: false,
  }
  const begin = (namespace: string) => all.begin([mirror], { namespace, client: "192.0.2.2" }, request)[0]
  return { begin }
}

describe("a namespace whose mirrors never respond", () => {
  test("does not take copies from other namespaces, and has its own again later", () => {
    const { begin } = silentMirrors()
    // when one namespace has all the copies that it can have
    const greedy = Array.from({ length: 1000 }, () => begin("greedy")).filter((copy) => copy !== undefined)
    expect(greedy.length).toBeLessThan(1000)
    // then others have theirs
    expect(begin("modest")).toBeDefined()
    // and it has one again when one of its own is over
    expect(begin("greedy")).toBeUndefined()
    for (const copy of greedy) copy.abort()
    expect(begin("greedy")).toBeDefined()
  })

  test("does not take memory for waiting bodies from other namespaces", () => {
    const { begin } = silentMirrors()
    const ended = { whole: 0, cut: 0 }
    const fill = (namespace: string) => {
      const copy = begin(namespace)!
      copy.data(Buffer.alloc(256 * 1024))
      ended[copy.isOver ? "cut" : "whole"]++
    }
    for (let i = 0; i < 128; i++) fill("greedy")
    expect(ended.cut).toBeGreaterThan(0)
    const { whole } = ended
    fill("modest")
    expect(ended.whole).toBe(whole + 1)
  })
})
