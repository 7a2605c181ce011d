import { afterEach, expect, test } from "bun:test"
import { once } from "node:events"
import { connect as connectHttp2 } from "node:http2"
import { request } from "node:https"
import { PassThrough } from "node:stream"
import type { Listener } from "./listen.ts"
import { listening } from "./listening.fixtures.ts"
import { drained, passOn } from "./pass-on.ts"

let listener: Listener | undefined
afterEach(() => listener?.stop())

/** Serves parts without an end. Resolves `ended` when nobody asks for more of them. */
async function endless() {
  const ended = Promise.withResolvers<void>()
  const destroyed = Promise.withResolvers<boolean>()
  async function* parts() {
    try {
      for (;;) yield Buffer.alloc(64 * 1024)
    } finally {
      ended.resolve()
    }
  }
  listener = await listening({
    onRequest: (_req, res) => {
      res.once("close", () => destroyed.resolve(res.destroyed))
      res.writeHead(200)
      void passOn(parts(), res)
    },
  })
  return { ended: ended.promise, destroyed: destroyed.promise, port: listener.port }
}

const CUTS = ["resets its stream", "closes its connection"] as const

test.each(CUTS)("the parts end when a client of HTTP/2 %s", async (cut) => {
  // given a client that has read a part
  const { ended, destroyed, port } = await endless()
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
  session.on("error", () => {})
  const stream = session.request({ ":path": "/" })
  stream.on("error", () => {})
  await once(stream, "data")

  // when
  if (cut === "resets its stream") stream.close(8)
  else session.destroy()

  // then
  await ended
  expect(await destroyed).toBe(true)
  session.destroy()
})

test("the parts end when a client of HTTP/1.1 closes its connection", async () => {
  const { ended, destroyed, port } = await endless()
  const req = request({ host: "127.0.0.1", port, rejectUnauthorized: false, agent: false })
  req.on("error", () => {})
  req.end()
  const [res] = (await once(req, "response")) as [NodeJS.ReadableStream]
  res.on("error", () => {})
  await once(res, "data")
  req.destroy()
  await ended
  expect(await destroyed).toBe(true)
})

test("a stream that is closed already is not waited for", async () => {
  const stream = new PassThrough()
  stream.destroy()
  await once(stream, "close")
  await drained(stream)
})
