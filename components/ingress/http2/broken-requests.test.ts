/** Requests of clients that end in ways which `node:http2` does not produce. */
import { expect, test } from "bun:test"
import { backend, client, startProxy } from "../proxy/proxy.fixtures.ts"
import { head, part, reset, SETTINGS_FRAME } from "./frames.fixtures.ts"

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
/** `POST http://a/`: `:method`, `:scheme` and `:path` of the static table, and `:authority`. Source: RFC 7541, appendix A. */
const POST = head(0x83, 0x86, 0x84, 0x01, 1, "a".charCodeAt(0))

test.each([
  { title: "NO_ERROR", code: 0 },
  { title: "CANCEL", code: 8 },
])("an HTTP/1.1 backend gets no end of a body whose client resets the stream with $title", async ({ code }) => {
  // given a body that has begun
  using web = await backend()
  await using proxy = await startProxy({ endpoints: [web.port] })
  const browser = await client(proxy.port)
  browser.socket.write(Buffer.concat([PREFACE, SETTINGS_FRAME, POST, part("part")]))
  const served = await web.connection()
  await served.until("part\r\n")
  // when
  browser.socket.write(reset(code))
  // then the last chunk never comes
  expect(await served.untilEnd()).toBe("")
  browser.socket.destroy()
})
