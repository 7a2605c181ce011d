import { expect, test } from "bun:test"
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { request as httpsRequest } from "node:https"
import { chunkedBody, chunkOf } from "./chunked-body.ts"
import type { DirectSocket } from "./direct-socket.ts"
import { listening } from "./listening.fixtures.ts"
import type { ServerAnswer, ServerRequest } from "./server-request.ts"

/** A client that has got the head of a response whose body has begun, and the server's end of that response. */
async function opened() {
  const asked = Promise.withResolvers<{ body: DirectSocket; res: ServerAnswer }>()
  const onRequest = (req: ServerRequest, res: ServerAnswer) => {
    res.writeHead(200)
    res.write("")
    asked.resolve({ body: chunkedBody(req, res)!, res })
  }
  const listener = await listening({ onRequest })
  const request = httpsRequest({
    host: "127.0.0.1",
    port: listener.port,
    rejectUnauthorized: false,
    agent: false,
  }).end()
  const [answer] = (await once(request, "response")) as [IncomingMessage]
  return { ...(await asked.promise), answer, [Symbol.asyncDispose]: () => listener.stop() }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = ""
  for await (const piece of answer) text += String(piece)
  return text
}

const bytes = (text: string) => new TextEncoder().encode(text)

test("chunks reach the client in order, between what the HTTP layer writes", async () => {
  // given an answer whose head is sent
  await using connection = await opened()
  // when chunks are written past the HTTP layer, and it writes the end
  connection.body.write(chunkOf([bytes("an event\n")]))
  connection.body.write(chunkOf([bytes("two "), bytes("events\n")]))
  connection.res.end("the end")
  // then all of it is there
  expect(await textOf(connection.answer)).toBe("an event\ntwo events\nthe end")
})

test("data that a client does not read waits and is counted, and is complete when the client reads again", async () => {
  // given a client that reads nothing
  await using connection = await opened()
  connection.answer.pause()
  // when more is written than the kernel takes, in chunks that are each different and larger than a TLS record
  const sent: string[] = []
  let waiting = 0
  while (waiting < 2 ** 20 && sent.length < 1000) {
    const text = `${String(sent.length).padStart(4).repeat(20_000)}\n`
    sent.push(text)
    waiting = connection.body.write(chunkOf([bytes(text)]))
  }
  expect(waiting).toBeGreaterThanOrEqual(2 ** 20)
  // then, once it reads, it gets everything, and what is written after
  const received = textOf(connection.answer)
  connection.body.write(chunkOf([bytes("afterwards")]))
  connection.res.end()
  expect((await received) === `${sent.join("")}afterwards`).toBe(true)
})

test("a chunk for a client that has disconnected is dropped without an error", async () => {
  // given a client that went away, of which the server has heard
  await using connection = await opened()
  const closed = once(connection.res, "close")
  connection.answer.destroy()
  await closed
  // then it can be written to
  expect(() => connection.body.write(chunkOf([bytes("an event\n")]))).not.toThrow()
})
