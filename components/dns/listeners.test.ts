import { expect, test } from "bun:test"
import { connect } from "node:net"
import { VirtualClock } from "../../pkg/clock/virtual.ts"
import { createLogger } from "../../pkg/log/log.ts"
import { ADDRESS, freePort } from "./dns.fixtures.ts"
import { openListeners } from "./listeners.ts"
import { frame } from "./wire/frames.ts"

const QUERIES = 20_000
const ANSWER = Buffer.alloc(16_384)

test("a client over TCP that does not read its answers is disconnected, and no more of its queries are read", async () => {
  // given a server with large answers, of which thousands would be hundreds of megabytes
  const clock = new VirtualClock(0)
  const log = createLogger({ clock, format: "text", level: "error", write: () => undefined })
  const port = await freePort()
  let answered = 0
  const respond = () => {
    answered++
    return ANSWER
  }
  const listeners = await openListeners({ addresses: [ADDRESS], port, respond, clock, log })
  // when a client sends queries, and reads nothing
  const socket = connect(port, ADDRESS)
  socket.pause()
  const closed = new Promise((resolve) => socket.once("close", resolve))
  socket.on("error", () => undefined)
  const query = frame(Buffer.alloc(30))
  socket.write(Buffer.concat(Array.from({ length: QUERIES }, () => query)))
  let before = -1
  while (answered === 0 || answered !== before) {
    before = answered
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  // then
  expect(answered).toBeLessThan(QUERIES / 2)
  await clock.advance(10_000)
  socket.resume()
  await closed
  await listeners.close()
})
