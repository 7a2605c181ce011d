import { PassThrough } from "node:stream"
import type { Socket } from "node:net"
import { expect, test } from "bun:test"
import { VirtualClock } from "../../pkg/clock/virtual.ts"
import { FirstBytes } from "./first-bytes.ts"
import { Watchdog } from "./proxy/watchdog.ts"
import { readClientHello } from "./tls/client-hello.ts"

/**
 * Sends bytes one by one. Returns how many bytes were passed to the parser in total, and the connection that was given
 * away.
 */
function sendSingly(bytes: Buffer) {
  const socket = new PassThrough() as unknown as Socket
  let looked = 0
  let given: Socket | undefined
  void new FirstBytes(socket, new Watchdog(new VirtualClock(0)), 1000, (first) => {
    looked += first.length
    const hello = readClientHello(first)
    return hello.kind === "incomplete" ? hello.needed : (taken) => (given = taken)
  })
  for (const byte of bytes) socket.emit("data", Buffer.from([byte]))
  return { looked, given }
}

/** Returns records of `size` bytes with a ClientHello of `length` bytes. */
function helloOf(length: number, size: number): Buffer {
  const message = Buffer.alloc(length)
  message.set([1, 0, (length - 4) >> 8, (length - 4) & 255])
  const records: Buffer[] = []
  for (let at = 0; at < length; at += size) {
    const part = message.subarray(at, at + size)
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part)
  }
  return Buffer.concat(records)
}

test.each([
  { title: "a long ClientHello", given: helloOf(30_000, 16_000), wants: 100_000 },
  { title: "a ClientHello in records of one byte", given: helloOf(5000, 1), wants: 25_000 },
])(
  "$title that arrives byte by byte is parsed again only when the bytes that were missing have arrived",
  ({ given: bytes, wants }) => {
    const { looked, given } = sendSingly(bytes)
    expect(given).toBeDefined()
    expect(looked).toBeLessThan(wants)
  },
)

test("all bytes are given to the handler of the connection", () => {
  const bytes = helloOf(500, 100)
  expect(sendSingly(bytes).given!.read()).toEqual(bytes)
})
