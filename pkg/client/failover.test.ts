import { describe, expect, test } from "bun:test"
import { Node } from "../api/core/v1/node/node.ts"
import { ApiError } from "../apimachinery/errors.ts"
import { VirtualClock } from "../clock/virtual.ts"
import { createFailoverTransport } from "./failover.ts"
import { unreachable, type HttpAnswer, type HttpCall } from "./json-transport.ts"
import { ServerList } from "./server-list.ts"

const [A, B] = ["https://192.0.2.1:6443", "https://192.0.2.2:6443"]
const refused = () => unreachable("a server", Object.assign(new Error("refused"), { code: "ECONNREFUSED" }))
const broken = () => unreachable("a server", Object.assign(new Error("hung up"), { code: "ECONNRESET" }))

/** Servers that answer each request by `serve`, and a record of their requests. */
function servers(serve: (server: string, call: HttpCall) => Promise<HttpAnswer>) {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1))
  const asked: string[] = []
  const closed: string[] = []
  const dead = new Set<string>()
  const list = new ServerList(A!, (server) => (dead.has(server) ? Promise.reject(refused()) : Promise.resolve()))
  list.set([A!, B!])
  const transport = createFailoverTransport({
    servers: list,
    clock,
    connect: (server) => {
      const close = Promise.withResolvers<never>()
      close.promise.catch(() => undefined)
      return {
        send(call) {
          asked.push(`${call.method} ${server}`)
          return { answer: Promise.race([serve(server, call), close.promise]), abort: () => undefined }
        },
        close() {
          closed.push(server)
          close.reject(broken())
        },
      }
    },
  })
  return { clock, asked, closed, dead, list, transport }
}

const answered = (code: number, text: string): HttpAnswer => ({
  code,
  body: (async function* () {
    yield Buffer.from(text)
  })(),
})
const ok = (): Promise<HttpAnswer> => Promise.resolve(answered(200, "{}"))
const unavailable = (retryAfterSeconds?: number): Promise<HttpAnswer> =>
  Promise.resolve({
    ...answered(503, "the API server is starting\n"),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  })
const get = { verb: "get", resource: Node, name: "a" } as const
const create = { verb: "create", resource: Node, object: { metadata: { name: "a" } } } as const

describe("a transport to two servers", () => {
  test.each([
    {
      title: "a read goes to the other server when the first one cannot be reached",
      call: get,
      error: refused,
      retried: true,
    },
    { title: "a read goes to the other server when the first one aborts", call: get, error: broken, retried: true },
    {
      title: "a write goes to the other server when the first one cannot be reached",
      call: create,
      error: refused,
      retried: true,
    },
    { title: "a write that may have reached the first server fails", call: create, error: broken, retried: false },
  ])("$title", async ({ call, error, retried }) => {
    const { transport, asked, list } = servers((server) => (server === A ? Promise.reject(error()) : ok()))
    const answer = transport.call(call)
    if (retried) expect(await answer).toEqual({})
    else await expect(answer).rejects.toBeInstanceOf(ApiError)
    expect(asked).toHaveLength(retried ? 2 : 1)
    // and the next request goes to the other one at once
    expect(list.current).toBe(B!)
  })

  test.each([
    { title: "a read that a starting server refuses is sent to the other one", call: get, wait: 1, retried: true },
    { title: "a write that a starting server refuses is sent to the other one", call: create, wait: 1, retried: true },
    { title: "a write that ends with 503 without Retry-After is not sent again", call: create, retried: false },
  ])("$title", async ({ call, wait, retried }) => {
    const { transport, asked, list, closed } = servers((server) => (server === A ? unavailable(wait) : ok()))
    const answer = transport.call(call)
    if (retried) expect(await answer).toEqual({})
    else await expect(answer).rejects.toMatchObject({ code: 503 })
    expect(asked).toHaveLength(retried ? 2 : 1)
    expect(list.current).toBe(retried ? B! : A!)
    // and what the refusing server still answers is not ended
    expect(closed).toEqual([])
  })

  test("the refusal is returned if every server refuses, and waiting clients are notified when one serves again", async () => {
    let serves = false
    const { transport, asked, list } = servers(() => (serves ? ok() : unavailable(1)))
    let told = 0
    list.onReturned(() => void told++)
    await expect(transport.call(create)).rejects.toMatchObject({ code: 503 })
    expect(asked).toEqual([`POST ${A}`, `POST ${B}`])
    serves = true
    await transport.call(get)
    expect(told).toBe(1)
  })

  test("waiting clients are notified once when a server responds again", async () => {
    // given
    let isUp = false
    const { transport, list } = servers(() => (isUp ? ok() : Promise.reject(refused())))
    let told = 0
    list.onReturned(() => void told++)
    await expect(transport.call(get)).rejects.toBeInstanceOf(ApiError)
    expect(told).toBe(0)
    // when
    isUp = true
    await transport.call(get)
    await transport.call(get)
    // then
    expect(told).toBe(1)
  })

  test("requests that end with a server's connections do not end later requests", async () => {
    // given one server, and a request under way
    const answers: PromiseWithResolvers<HttpAnswer>[] = []
    const { transport, list, closed } = servers(() => {
      answers.push(Promise.withResolvers())
      return answers.at(-1)!.promise
    })
    list.set([A!])
    const first = transport.call(get).catch((err: unknown) => err)
    // when another one finds the server gone, and the next one finds it again
    const second = transport.call(get)
    answers[1]!.reject(broken())
    await expect(second).rejects.toBeInstanceOf(ApiError)
    const third = transport.call(get)
    expect(await first).toBeInstanceOf(ApiError)
    answers[2]!.resolve(await ok())
    // then it is answered
    expect(await third).toEqual({})
    expect(closed).toEqual([A!])
  })

  test("a request fails if no server can be reached", async () => {
    const { transport, asked } = servers(() => Promise.reject(refused()))
    await expect(transport.call(get)).rejects.toMatchObject({ reason: "ServiceUnavailable" })
    expect(asked).toEqual([`GET ${A}`, `GET ${B}`])
  })

  test("a server that responds late is left only if it does not respond to a probe either", async () => {
    const { transport, clock, dead, closed } = servers((server) => (server === A ? new Promise(() => undefined) : ok()))
    const answer = transport.call(get)
    // given a slow server that is alive
    await clock.advance(3000)
    expect(closed).toEqual([])
    // when it is dead, the next slow request finds out
    dead.add(A!)
    const other = transport.call(get)
    await clock.advance(3000)
    // then all go to the other server
    expect(await Promise.all([answer, other])).toEqual([{}, {}])
    expect(closed).toEqual([A!])
  })
})

describe("a list of servers", () => {
  const list = () => new ServerList(A!, () => Promise.resolve())

  test("keeps the given address, although the cluster does not list it", () => {
    const servers = list()
    servers.set([B!])
    expect(servers.all).toEqual([B!, A!])
    expect(servers.current).toBe(A!)
  })

  test("switches from a server that the cluster does not list any more", () => {
    const servers = list()
    servers.set([A!, B!])
    servers.failed(A!)
    expect(servers.current).toBe(B!)
    servers.set([A!])
    expect(servers.current).toBe(A!)
  })

  test("does not switch because of a server that it has left already", () => {
    const servers = list()
    servers.set([A!, B!])
    servers.failed(A!)
    servers.failed(A!)
    expect(servers.current).toBe(B!)
  })
})
