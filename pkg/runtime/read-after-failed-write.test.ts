import { afterAll, beforeAll, expect, test } from "bun:test"
import { once } from "node:events"
import { connect, createServer, type AddressInfo, type Server } from "node:net"
import { readAfterFailedWrite } from "./read-after-failed-write.ts"

const STATUS = "status"
let server: Server
let reset: PromiseWithResolvers<void>
beforeAll(async () => {
  // A peer that takes a little, says how it has ended, and resets the connection, because much is unread.
  server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined)
    socket.once("data", () => {
      socket.pause()
      socket.write(STATUS, () => {
        socket.resetAndDestroy()
        reset.resolve()
      })
    })
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
})
afterAll(() => void server.close())

/** Returns what a client reads that writes in the moment in which the connection has been reset. */
async function readByWriter(): Promise<string> {
  reset = Promise.withResolvers()
  const socket = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true })
  readAfterFailedWrite(socket)
  let read = ""
  socket.on("data", (bytes) => (read += bytes.toString()))
  socket.on("error", () => socket.destroy())
  socket.on("end", () => socket.end())
  const closed = once(socket, "close")
  await once(socket, "connect")
  socket.write("input")
  // In the turn of the reset: what has come is not read yet, and the kernel refuses what is written.
  void reset.promise.then(() => {
    for (let i = 0; i < 4; i++) {
      socket.cork()
      socket.write(Buffer.alloc(1000))
      socket.write(Buffer.alloc(1000))
      socket.uncork()
    }
  })
  await closed
  expect(socket.writableLength).toBe(0)
  return read
}

test("what a peer has sent before it reset the connection is read, though a write has failed meanwhile", async () => {
  for (let i = 0; i < 20; i++) expect(await readByWriter()).toBe(STATUS)
})
