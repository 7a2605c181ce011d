/** Requests with as many cookies as browsers send, which are larger than the heads of nearly all others. */
import { describe, expect, test } from "bun:test"
import { connect } from "node:http2"
import { once } from "node:events"
import { LongHeads, LONGEST_HEAD, PLAIN_HEAD } from "./long-heads.ts"
import { backend, client, startProxy } from "./proxy/proxy.fixtures.ts"
import { HEAD_END, OK, through } from "./proxy/proxied-client.fixtures.ts"

const MiB = 2 ** 20
/** A browser keeps 180 cookies of 4,096 bytes each for a host. */
const cookies = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, i) => `c${i}=`.padEnd(bytes - 2, "x")).join("; ")

describe("a request with a long head", () => {
  test.each([36 * 1024, 180 * 4096])("reaches the backend whole with %d bytes of cookies", async (bytes) => {
    await using given = await through()
    const cookie = cookies(bytes / 4096, 4096)
    given.browser.send(`GET / HTTP/1.1\r\nHost: a\r\nCookie: ${cookie}\r\n\r\n`)
    const server = await given.web.connection()
    expect(await server.until(HEAD_END)).toContain(`Cookie: ${cookie}\r\n`)
    server.send(OK)
    expect(await given.browser.until("ok")).toBe(OK)
  })

  test("reaches the backend over HTTP/2, in which each cookie is a field", async () => {
    // given
    using web = await backend()
    await using proxy = await startProxy({ endpoints: [web.port] })
    const browser = connect(`http://127.0.0.1:${proxy.port}`)
    const crumbs = cookies(180, 1024).split("; ")
    // when
    const stream = browser.request({ ":path": "/", ":authority": "a", cookie: crumbs as never })
    const server = await web.connection()
    // then
    expect((await server.until(HEAD_END)).toLowerCase()).toContain(`cookie: ${crumbs.join("; ")}\r\n`)
    server.send(OK)
    const [head] = (await once(stream, "response")) as [Record<string, unknown>]
    expect(head[":status"]).toBe(200)
    browser.destroy()
  })

  test("is refused with 431 when it is longer than any browser's", async () => {
    await using given = await through()
    given.browser.send(`GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(LONGEST_HEAD)}`)
    expect(await given.browser.untilEnd()).toStartWith("HTTP/1.1 431 ")
  })

  test("is refused with 431 when one client alone fills what there is for long heads, and others are not", async () => {
    // given a client whose connections hold heads that do not end
    using web = await backend()
    await using proxy = await startProxy({ endpoints: [web.port], limits: { longHeads: 4 * MiB } })
    const long = `GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(0.9 * MiB)}`
    const held = await Promise.all(Array.from({ length: 8 }, () => client(proxy.port)))
    for (const each of held) each.send(long)
    const refused = await Promise.any(held.map((each) => each.until(HEAD_END)))
    expect(refused).toStartWith("HTTP/1.1 431 ")
    // then a head of usual length passes
    void web.connection().then(async (server) => {
      await server.until(HEAD_END)
      server.send(OK)
    })
    const ask = async (head: string) => {
      const browser = await client(proxy.port)
      browser.send(`${head}\r\n\r\n`)
      return browser.until(HEAD_END)
    }
    expect(await ask("GET / HTTP/1.1\r\nHost: a")).toStartWith("HTTP/1.1 200 ")
    // and a long one when the others have gone, which the proxy hears a little later
    for (const each of held) each.socket.destroy()
    let status = ""
    while (!status.startsWith("HTTP/1.1 404 ")) status = await ask(long.replace("Host: a", "Host: unknown"))
  })
})

test("connections that stay open after their answer hold nothing of what there is for long heads", async () => {
  await using proxy = await startProxy({ endpoints: [], limits: { longHeads: 4 * MiB } })
  const long = `GET / HTTP/1.1\r\nHost: unknown\r\nX: ${"x".repeat(0.9 * MiB)}\r\n\r\n`
  const open = await Promise.all(Array.from({ length: 6 }, () => client(proxy.port)))
  for (const each of open) {
    each.send(long)
    expect(await each.until(HEAD_END)).toStartWith("HTTP/1.1 404 ")
  }
  for (const each of open) each.socket.destroy()
})

test("streams of HTTP/2 with long heads share what there is, and give it back", async () => {
  // given two requests that wait for their answers
  using web = await backend()
  await using proxy = await startProxy({ endpoints: [web.port], limits: { longHeads: 400 * 1024 } })
  const browser = connect(`http://127.0.0.1:${proxy.port}`)
  const cookie = cookies(180, 1024).split("; ") as never
  const ask = (host: string) => browser.request({ ":path": "/", ":authority": host, cookie })
  const statusOf = async (stream: ReturnType<typeof ask>) => {
    const [head] = (await once(stream, "response")) as [Record<string, unknown>]
    stream.resume()
    return head[":status"]
  }
  const waiting = [ask("a"), ask("a")]
  for (const _each of waiting) await web.connection()
  // when there is a third, then it is refused
  expect(await statusOf(ask("unknown"))).toBe(431)
  // and when they end, which the proxy hears a little later, it is not
  for (const stream of waiting) stream.close()
  let status: unknown = 431
  while (status === 431) status = await statusOf(ask("unknown"))
  expect(status).toBe(404)
  browser.destroy()
})

test("what there is for long heads is shared among clients, and given back", () => {
  const heads = new LongHeads(MiB)
  const [a, b] = [heads.of("a"), heads.of("b")]
  expect([a.grow(PLAIN_HEAD), a.grow(MiB / 2), a.grow(MiB)]).toEqual([true, true, true])
  expect(heads.of("a").grow(MiB / 2)).toBe(false)
  expect(b.grow(PLAIN_HEAD + 1)).toBe(true)
  a.release()
  a.release()
  expect(heads.of("b").grow(MiB / 2)).toBe(true)
})
