import { afterEach, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net"
import { splice } from "./splice.ts"

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** Two ends of one connection over loopback, each of which may end its direction alone. */
async function pair(): Promise<readonly [Socket, Socket]> {
  const { promise, resolve } = Promise.withResolvers<Socket>()
  const server = createServer({ allowHalfOpen: true }, resolve)
  servers.push(server)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const near = connect({ host: "127.0.0.1", port: (server.address() as AddressInfo).port, allowHalfOpen: true })
  await once(near, "connect")
  return [near, await promise]
}

/** A client and a server whose connections are spliced in between. */
async function spliced() {
  const [[client, left], [right, server]] = [await pair(), await pair()]
  const over = splice(left, right)
  return { client, server, over }
}

/** Counts what comes until the other side has ended. The socket stays open for writing. */
function bytesOf(socket: Socket): Promise<number> {
  let bytes = 0
  socket.on("data", (chunk) => void (bytes += chunk.length))
  socket.resume()
  return new Promise((resolve) => socket.once("end", () => resolve(bytes)))
}

const MUCH = 24 * 1024 * 1024

describe("two joined sockets", () => {
  test("carry each direction until its own end", async () => {
    // given
    const { client, server, over } = await spliced()
    // when
    client.end("question")
    const heard = await bytesOf(server)
    server.end("answer")
    // then
    expect(heard).toBe(8)
    expect(await bytesOf(client)).toBe(6)
    await over
  })

  test.each(["end", "end and close"])("lose none of the data that a side sends before its %s", async (how) => {
    // given
    const { client, server, over } = await spliced()
    client.pause()
    // when
    if (how === "end") server.end(Buffer.alloc(MUCH))
    else {
      server.end(Buffer.alloc(MUCH))
      server.destroySoon()
    }
    // then
    expect(await bytesOf(client)).toBe(MUCH)
    client.end()
    await over
  })

  test("are both closed when one of them is lost", async () => {
    // given
    const { client, server, over } = await spliced()
    const ended = bytesOf(server)
    // when
    client.resetAndDestroy()
    // then
    await over
    await ended
  })
})
