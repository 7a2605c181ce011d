import { describe, expect, test } from "bun:test"
import { createServer, connect as connectTcp, type AddressInfo } from "node:net"
import { connect } from "node:tls"
import { readClientHello } from "./client-hello.ts"

/** Returns the first bytes that a TLS client sends. */
async function helloOf(servername: string): Promise<Buffer> {
  const sent = Promise.withResolvers<Buffer>()
  const server = createServer((socket) => {
    socket.once("data", (bytes: Buffer) => {
      sent.resolve(bytes)
      socket.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const socket = connectTcp({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" })
  connect({ socket, rejectUnauthorized: false, ...(servername === "" ? {} : { servername }) }).on(
    "error",
    () => undefined,
  )
  const bytes = await sent.promise
  server.close()
  return bytes
}

const recordOf = (part: Buffer) => Buffer.concat([Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part])

describe("of the first bytes of a TLS client", () => {
  test("the server name is read in lower case, and each shorter prefix is incomplete", async () => {
    const bytes = await helloOf("Shop.Example")
    expect(readClientHello(bytes)).toEqual({ kind: "hello", name: "shop.example" })
    for (let end = 0; end < bytes.length; end++) {
      const needed = end < 5 ? 5 : end < 9 ? 9 : bytes.length
      expect(readClientHello(bytes.subarray(0, end))).toEqual({ kind: "incomplete", needed })
    }
  })

  test("the server name can be in a second record", async () => {
    const bytes = await helloOf("shop.example")
    const split = Buffer.concat([recordOf(bytes.subarray(5, 50)), recordOf(bytes.subarray(50))])
    expect(readClientHello(split)).toEqual({ kind: "hello", name: "shop.example" })
  })

  test("the message can begin with records of one byte, but has 64 records at most", async () => {
    const message = (await helloOf("shop.example")).subarray(5)
    const ones = (count: number) => [...message.subarray(0, count)].map((byte) => recordOf(Buffer.from([byte])))
    const split = (count: number) => Buffer.concat([...ones(count), recordOf(message.subarray(count))])
    expect(readClientHello(split(63))).toEqual({ kind: "hello", name: "shop.example" })
    expect(readClientHello(split(64))).toEqual({ kind: "malformed" })
  })

  test("a changed byte never makes the parser throw or ask for more bytes than the limit", async () => {
    const bytes = await helloOf("shop.example")
    for (let at = 0; at < bytes.length; at++)
      for (const value of [0, 255]) {
        const changed = Buffer.from(bytes)
        changed[at] = value
        expect(["incomplete", "malformed", "hello"]).toContain(readClientHello(changed).kind)
      }
  })
})

test.each([
  { title: "HTTP", given: Buffer.from("GET / HTTP/1.1\r\n\r\n") },
  { title: "an empty record", given: Buffer.from([22, 3, 1, 0, 0]) },
  { title: "another message than a ClientHello", given: Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0]) },
  { title: "a ClientHello that is too long", given: Buffer.from([22, 3, 1, 64, 0, 1, 1, 0, 0]) },
])("$title is malformed", ({ given }) => {
  expect(readClientHello(given)).toEqual({ kind: "malformed" })
})
