import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { connect } from "node:tls"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { NO_STREAMS, POD, repeating, streamServer, TALKING_PORTS } from "./stream-server.fixtures.ts"

let server: Awaited<ReturnType<typeof streamServer>>
let unregister: () => void
beforeAll(async () => {
  server = await streamServer()
  unregister = server.nodes.register("n1", {
    ...NO_STREAMS,
    exec: repeating([]),
    portForward: TALKING_PORTS,
    logs: async (_pod, _options, signal) =>
      (async function* () {
        yield Buffer.from("first")
        await new Promise((resolve) => signal.addEventListener("abort", resolve))
      })(),
  })
})
afterAll(async () => {
  unregister()
  await server[Symbol.asyncDispose]()
})

const websocket = (protocol: string) =>
  "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
  `${protocol === "" ? "" : `Sec-WebSocket-Protocol: ${protocol}\r\n`}`
const spdy = (protocol: string) => `Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n`
const EXEC = `${POD}/exec?command=cat&stdin=true&stdout=true`
const STREAMS = [
  { stream: "exec over SPDY", path: EXEC, upgrade: spdy("v4.channel.k8s.io") },
  { stream: "exec over WebSocket v5", path: EXEC, upgrade: websocket("v5.channel.k8s.io") },
  { stream: "exec over WebSocket in base64", path: EXEC, upgrade: websocket("base64.channel.k8s.io") },
  { stream: "port-forward over SPDY", path: `${POD}/portforward`, upgrade: spdy("portforward.k8s.io") },
  {
    stream: "port-forward through a WebSocket",
    path: `${POD}/portforward`,
    upgrade: websocket("SPDY/3.1+portforward.k8s.io"),
  },
  {
    stream: "port-forward over WebSocket",
    path: `${POD}/portforward?ports=80`,
    upgrade: websocket("v4.channel.k8s.io"),
  },
  { stream: "a log over WebSocket", path: `${POD}/log?follow=true`, upgrade: websocket("") },
  { stream: "a watch over WebSocket", path: "/api/v1/pods?watch=true", upgrade: websocket("") },
]

/** A frame of a WebSocket, masked with zeros, with any opcode and flags. */
const wsFrame = (first: number, payload: Buffer): Buffer =>
  Buffer.concat([
    payload.length < 126
      ? Buffer.from([first, 0x80 | payload.length])
      : Buffer.from([first, 0x80 | 126, payload.length >> 8, payload.length & 0xff]),
    Buffer.alloc(4),
    payload,
  ])
/** A control frame of SPDY with any type. */
function spdyControl(type: number, flags: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt16BE(0x8003, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt32BE(flags * 2 ** 24 + payload.length, 4)
  return Buffer.concat([head, payload])
}

/**
 * Opens a stream, sends bytes, and is gone a moment later. Resolves with the first line of the answer to the upgrade.
 */
function send(path: string, upgrade: string, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let answer = ""
    const socket = connect({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false }, () =>
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${server.authorization}\r\nConnection: Upgrade\r\n` +
          `${upgrade}\r\n`,
      ),
    )
    socket.on("error", () => undefined)
    socket.once("data", (head: Buffer) => {
      answer = head.toString("latin1").split("\r\n")[0]!
      socket.write(bytes)
      setTimeout(() => socket.destroy(), 5)
    })
    socket.on("close", () => resolve(answer))
  })
}

describe.each(STREAMS)("$stream", ({ path, upgrade }) => {
  test("survives any bytes that are sent over it", async () => {
    // given bytes of every kind: noise, frames with noise in them, and every head with every length
    const random = seededRandom(path.length)
    const noise = (length: number) => Buffer.from(random.bytes(length))
    const cases: Buffer[] = []
    for (let i = 0; i < 40; i++) {
      cases.push(noise(1 + i * 7))
      cases.push(Buffer.concat([wsFrame(0x80 | (i & 0xf), noise(i * 3)), wsFrame(noise(1)[0]!, noise(200))]))
      cases.push(wsFrame(0x82, spdyControl(i % 12, i, noise(i * 5))))
      cases.push(spdyControl(i % 12, noise(1)[0]!, noise(i * 5)))
    }
    cases.push(Buffer.concat([Buffer.from([0x82, 0xff]), Buffer.alloc(8, 0xff), noise(100)]))
    cases.push(Buffer.concat([Buffer.from([0x80, 0x03, 0, 1, 0, 0xff, 0xff, 0xff]), noise(1000)]))

    // when they come
    const answers = await Promise.all(cases.map((bytes) => send(path, upgrade, bytes)))

    // then the server still answers
    expect([...new Set(answers)]).toEqual(["HTTP/1.1 101 Switching Protocols"])
    expect((await server.send("GET", POD)).code).toBe(200)
  })
})
