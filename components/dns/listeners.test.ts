import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { expect, test } from "bun:test"
import { createSocket } from "node:dgram"
import { once } from "node:events"
import { connect } from "node:net"
import { VirtualClock } from "../../pkg/clock/virtual.ts"
import { createLogger } from "../../pkg/log/log.ts"
import { ADDRESS } from "./dns.fixtures.ts"
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

test("a query whose answer throws costs no other query its answer", async () => {
  // given a server that fails at some queries, at once or later
  const clock = new VirtualClock(0)
  const lines: string[] = []
  const log = createLogger({ clock, format: "text", level: "error", write: (line) => lines.push(line) })
  const port = await freePort()
  const respond = (message: Buffer) => {
    const text = message.toString()
    if (text === "late") return Promise.reject(new TypeError("a mistake, later"))
    if (text.startsWith("bad")) throw new TypeError("a mistake")
    return Buffer.from(`answer to ${text}`)
  }
  const listeners = await openListeners({ addresses: [ADDRESS], port, respond, clock, log })
  // when over UDP
  const client = createSocket("udp4")
  const answers: string[] = []
  client.on("message", (message) => answers.push(message.toString()))
  for (const text of ["bad", "late", "first", "bad", "second"]) client.send(text, port, ADDRESS)
  while (answers.length < 2) await once(client, "message")
  // then
  expect(answers.toSorted()).toEqual(["answer to first", "answer to second"])
  client.close()
  // when over TCP, then the connection with the bad query is closed
  const bad = connect(port, ADDRESS, () => bad.write(frame(Buffer.from("bad"))))
  await once(bad, "close")
  // and another one is served
  const good = connect(port, ADDRESS, () => good.write(frame(Buffer.from("third"))))
  const [bytes] = (await once(good, "data")) as [Buffer]
  expect(bytes.subarray(2).toString()).toBe("answer to third")
  good.destroy()
  expect(lines.length).toBeGreaterThan(0)
  await listeners.close()
})

test("a client over TCP is served though a few others hold all connections", async () => {
  // given two clients that hold all connections, and ask now and then
  const clock = new VirtualClock(0)
  const log = createLogger({ clock, format: "text", level: "error", write: () => undefined })
  const port = await freePort()
  const respond = (message: Buffer) => Buffer.from(`answer to ${message.toString()}`)
  const limits = { connections: 8, ofClient: 4 }
  const listeners = await openListeners({ addresses: [ADDRESS], port, respond, clock, log, limits })
  const open = async (localAddress: string) => {
    const socket = connect({ port, host: ADDRESS, localAddress })
    let isClosed = false
    socket.on("error", () => undefined).on("close", () => (isClosed = true))
    const ask = async () => {
      socket.write(frame(Buffer.from("q")))
      return Promise.race([once(socket, "data").then(() => "answered"), once(socket, "close").then(() => "closed")])
    }
    return { socket, ask, first: await ask(), isClosed: () => isClosed }
  }
  const held: Awaited<ReturnType<typeof open>>[] = []
  for (const client of ["127.0.0.2", "127.0.0.3"]) for (let i = 0; i < 4; i++) held.push(await open(client))
  expect(held.map(({ first }) => first)).toEqual(Array(8).fill("answered"))
  expect((await open("127.0.0.2")).first).toBe("closed")
  // when the first connection asks again, and others come
  expect(await held[0]!.ask()).toBe("answered")
  const others = [await open("127.0.0.4"), await open("127.0.0.5")]
  // then they are served, and the connections that have asked nothing for the longest time are closed
  expect(others.map(({ first }) => first)).toEqual(["answered", "answered"])
  await Promise.all([1, 4].map((i) => held[i]!.isClosed() || once(held[i]!.socket, "close")))
  expect(await held[0]!.ask()).toBe("answered")
  // and a client that would have more than any other one has closes none of theirs
  expect((await open("127.0.0.2")).first).toBe("closed")
  for (const { socket } of [...held, ...others]) socket.destroy()
  await listeners.close()
})
