/** Responses of backends whose bodies are not as long as their heads say. `node:http2` does not check their length. */
import { expect, test } from "bun:test"
import { createServer, type AddressInfo } from "node:net"
import { client, startProxy } from "../proxy/proxy.fixtures.ts"
import { head, last, part, reset, SETTINGS_FRAME } from "./frames.fixtures.ts"

/** `:status` 200 and 204, and the name `content-length`. Source: RFC 7541, appendix A. */
const [OK, NO_CONTENT] = [0x88, 0x89]
const lengthOf = (digit: string) => [0x0f, 0x0d, 1, digit.charCodeAt(0)]

/** A backend that answers the first request of each connection with these frames. */
async function answering(answer: readonly Buffer[]) {
  const server = createServer((socket) => {
    socket.on("error", () => undefined)
    socket.once("data", () => socket.write(Buffer.concat([SETTINGS_FRAME, ...answer])))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return { port: (server.address() as AddressInfo).port, [Symbol.dispose]: () => void server.close() }
}

test.each([
  { title: "no head", answer: [last("evil")], wants: /^HTTP\/1\.1 502 .*reached\nHTTP\/1\.1 404 /s },
  { title: "a body after 204", answer: [head(NO_CONTENT), last("evil")], wants: /^HTTP\/1\.1 204 .*\r\n\r\n$/s },
  { title: "a longer body", answer: [head(OK, ...lengthOf("1")), last("evil")], wants: /^HTTP\/1\.1 200 .*\r\n\r\n$/s },
  { title: "a shorter body", answer: [head(OK, ...lengthOf("9")), last("evil")], wants: /\r\n\r\nevil$/ },
])("an HTTP/2 response with $title does not run into the client's next response", async ({ answer, wants }) => {
  // given
  using server = await answering(answer)
  await using proxy = await startProxy({ protocol: "h2c", endpoints: [server.port], policy: { retries: 1 } })
  const browser = await client(proxy.port)
  // when
  browser.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
  await proxy.whenFinished(1)
  browser.send("GET /unknown HTTP/1.1\r\nHost: unknown\r\nConnection: close\r\n\r\n")
  // then
  expect(await browser.untilEnd()).toMatch(wants)
})

const WHOLE = /4\r\npart\r\n0\r\n\r\n$/
const CUT = /4\r\npart\r\n$/

test.each([
  { title: "END_STREAM", answer: [head(OK), last("part")], wants: WHOLE },
  { title: "END_STREAM and a reset", answer: [head(OK), last("part"), reset(0)], wants: WHOLE },
  { title: "RST_STREAM with NO_ERROR", answer: [head(OK), part("part"), reset(0)], wants: CUT },
  { title: "RST_STREAM with CANCEL", answer: [head(OK), part("part"), reset(8)], wants: CUT },
])(
  "an HTTP/2 response that ends by $title is complete for the client only if the backend completed it",
  async ({ answer, wants }) => {
    // given
    using server = await answering(answer)
    await using proxy = await startProxy({ protocol: "h2c", endpoints: [server.port] })
    const browser = await client(proxy.port)
    // when
    browser.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    // then
    expect(await browser.untilEnd()).toMatch(wants)
  },
)
