/** Answers of backends whose bodies are not as long as their heads say, which `node:http2` passes on as they are. */
import { expect, test } from "bun:test"
import { createServer, type AddressInfo } from "node:net"
import { client, startProxy } from "../proxy.fixtures.ts"

const [DATA, HEADERS, SETTINGS] = [0, 1, 4]
const [END_STREAM, END_HEADERS] = [1, 4]
/** `:status` 200 and 204, and the name `content-length`. Source: RFC 7541, appendix A. */
const [OK, NO_CONTENT] = [0x88, 0x89]
const lengthOf = (digit: string) => [0x0f, 0x0d, 1, digit.charCodeAt(0)]

/** Returns a frame of the first stream, or of the connection. Source: RFC 9113, 4.1. */
const frame = (type: number, flags: number, payload: readonly number[] | Buffer) =>
  Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, type === SETTINGS ? 0 : 1, ...payload])
const head = (...fields: readonly number[]) => frame(HEADERS, END_HEADERS, fields)
const last = (text: string) => frame(DATA, END_STREAM, Buffer.from(text))

test.each([
  { title: "no head", answer: [last("evil")], wants: /^HTTP\/1\.1 502 .*reached\nHTTP\/1\.1 404 /s },
  { title: "a body behind 204", answer: [head(NO_CONTENT), last("evil")], wants: /^HTTP\/1\.1 204 .*\r\n\r\n$/s },
  { title: "a longer body", answer: [head(OK, ...lengthOf("1")), last("evil")], wants: /^HTTP\/1\.1 200 .*\r\n\r\n$/s },
  { title: "a shorter body", answer: [head(OK, ...lengthOf("9")), last("evil")], wants: /\r\n\r\nevil$/ },
])("an answer of HTTP/2 with $title leaves the border of the client's next answer alone", async ({ answer, wants }) => {
  // given
  const server = createServer((socket) => {
    socket.on("error", () => undefined)
    socket.once("data", () => socket.write(Buffer.concat([frame(SETTINGS, 0, []), ...answer])))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  await using proxy = await startProxy({
    protocol: "h2c",
    endpoints: [(server.address() as AddressInfo).port],
    policy: { retries: 1 },
  })
  const browser = await client(proxy.port)
  // when
  browser.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
  await proxy.whenFinished(1)
  browser.send("GET /unknown HTTP/1.1\r\nHost: unknown\r\nConnection: close\r\n\r\n")
  // then
  expect(await browser.untilEnd()).toMatch(wants)
  server.close()
})
