/**
 * Requests of a client without rights to the proxy of Ingresses and Gateways, which try to smuggle something to the
 * backend.
 */
import { expect, test } from "bun:test"
import { connect } from "node:http2"
import { backend, client, startProxy } from "../../components/ingress/proxy/proxy.fixtures.ts"

const HIDDEN = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"
const post = (...fields: readonly string[]) => `POST / HTTP/1.1\r\n${fields.map((each) => `${each}\r\n`).join("")}\r\n`
const chunked = (...parts: readonly string[]) => post("Host: a", "Transfer-Encoding: chunked") + parts.join("")

test.each([
  { title: "a length before chunks", sent: `${post("Host: a", "Content-Length: 4", "Transfer-Encoding: chunked")}0` },
  { title: "chunks before a length", sent: `${post("Host: a", "Transfer-Encoding: chunked", "Content-Length: 4")}0` },
  { title: "two equal lengths", sent: post("Host: a", "Content-Length: 4", "Content-Length: 4") },
  { title: "a list of lengths", sent: post("Host: a", "Content-Length: 4, 4") },
  { title: "a length with a sign", sent: post("Host: a", "Content-Length: +4") },
  { title: "a length with an underscore", sent: post("Host: a", "Content-Length: 1_0") },
  { title: "chunks twice", sent: post("Host: a", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked") },
  { title: "chunks and another encoding", sent: post("Host: a", "Transfer-Encoding: chunked, identity") },
  { title: "an encoding with a vertical tab", sent: post("Host: a", "Transfer-Encoding: \x0bchunked") },
  { title: "a folded header line", sent: post("Host: a", "Transfer-Encoding:\r\n chunked") },
  { title: "a space before a colon", sent: post("Host: a", "Content-Length : 4") },
  { title: "a line feed alone", sent: post("Host: a", "X: 1\nContent-Length: 4") },
  { title: "a carriage return alone", sent: post("Host: a", "X: 1\rContent-Length: 4") },
  { title: "a zero byte", sent: post("Host: a", "X: \0") },
  { title: "a line without a name", sent: post("Host: a", ": 4") },
  { title: "two Hosts", sent: post("Host: a", "Host: b") },
  { title: "no Host", sent: post("X: a") },
  { title: "a Host with a path", sent: post("Host: a/b") },
  { title: "chunks in HTTP/1.0", sent: "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" },
  { title: "a version of one digit", sent: "GET / HTTP/1\r\nHost: a\r\n\r\n" },
  { title: "no version", sent: "GET /\r\n\r\n" },
  { title: "CONNECT", sent: "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n" },
  { title: "CONNECT to a path", sent: "CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n" },
  { title: "a fragment", sent: "GET /public#/../admin HTTP/1.1\r\nHost: a\r\n\r\n" },
  { title: "a path above the root", sent: "GET /%2e%2e/etc HTTP/1.1\r\nHost: a\r\n\r\n" },
  { title: "an encoded slash beside dots", sent: "GET /public/..%2fadmin HTTP/1.1\r\nHost: a\r\n\r\n" },
  { title: "dots with a parameter", sent: "GET /public/..;/admin HTTP/1.1\r\nHost: a\r\n\r\n" },
  { title: "a head that does not end", sent: `GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(40_000)}` },
  { title: "too many fields", sent: `GET / HTTP/1.1\r\nHost: a\r\n${"X: x\r\n".repeat(250)}\r\n` },
])("a request with $title is refused, and nothing of it reaches a backend", async ({ sent }) => {
  using web = await backend()
  await using proxy = await startProxy({ endpoints: [web.port] })
  const browser = await client(proxy.port)
  browser.send(sent + HIDDEN)
  expect(await browser.until("\r\n")).toMatch(/^HTTP\/1\.1 (?:400|431|501|505) /)
  expect(web.unclaimed).toBe(0)
  browser.socket.destroy()
})

test.each([
  { title: "a size with a prefix", sent: chunked("0x5\r\nhello\r\n") },
  { title: "a size with a sign", sent: chunked("+5\r\nhello\r\n") },
  { title: "a size that overflows", sent: chunked("ffffffffffffffff5\r\nhello\r\n") },
  { title: "a size line that ends in a line feed", sent: chunked("5\nhello\r\n") },
  { title: "an extension with a line feed", sent: chunked("5;x\nx\r\nhello\r\n") },
  { title: "an extension that does not end", sent: chunked(`5;${"x".repeat(2000)}`) },
  { title: "a chunk that is longer than its size", sent: chunked("5\r\nhello world\r\n") },
  { title: "a trailer that continues in the next line", sent: chunked("0\r\nX: 1\r\n Content-Length: 5\r\n\r\n") },
  { title: "trailers that do not end", sent: chunked(`0\r\nX: ${"x".repeat(20_000)}`) },
])("a body with $title ends both connections before anything behind it is read", async ({ sent }) => {
  using web = await backend()
  await using proxy = await startProxy({ endpoints: [web.port] })
  const browser = await client(proxy.port)
  browser.send(sent + HIDDEN)
  const served = await web.connection()
  expect(await served.untilEnd()).not.toContain("/hidden")
  expect(await browser.untilEnd()).toBe("")
  expect(web.unclaimed).toBe(0)
})

test.each([
  { title: "a fragment", sent: { ":path": "/public#/../admin" } },
  { title: "an encoded slash beside dots", sent: { ":path": "/public/..%2fadmin" } },
  { title: "a path above the root", sent: { ":path": "/%2e%2e/etc" } },
  { title: "another Host", sent: { ":path": "/", host: "b" } },
  { title: "the target * and another method than OPTIONS", sent: { ":path": "*" } },
])("a request of HTTP/2 with $title is refused, and nothing of it reaches a backend", async ({ sent }) => {
  using web = await backend()
  await using proxy = await startProxy({ endpoints: [web.port] })
  const session = connect(`http://127.0.0.1:${proxy.port}`)
  const stream = session.request({ ":authority": "a", ...sent })
  const outcome = new Promise((resolve) => {
    stream.on("response", (headers) => resolve(headers[":status"])).on("error", () => resolve("reset"))
  })
  expect([400, "reset"]).toContain((await outcome) as number)
  expect(web.unclaimed).toBe(0)
  session.destroy()
})

test("a backend gets the host by which the request was routed, and X-Forwarded fields of the proxy only", async () => {
  using web = await backend()
  await using proxy = await startProxy({ endpoints: [web.port] })
  const browser = await client(proxy.port)
  const forged = ["X-Forwarded-For: 1", "X_Forwarded_Proto: https", "x-real_ip: 1", "Forwarded: for=1", "Proxy: evil"]
  browser.send(
    `GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: host\r\n${forged.join("\r\n")}\r\n\r\n`,
  )
  const head = await (await web.connection()).until("\r\n\r\n")
  expect(head.match(/^host:.*$/gim)).toEqual(["Host: b.example"])
  expect(head.match(/^(?:x[-_](?:forwarded|real)|forwarded|proxy).*$/gim)?.map((line) => line.split(":")[0])).toEqual([
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Port",
    "X-Forwarded-Proto",
    "X-Real-IP",
  ])
  expect(head).toContain("X-Forwarded-For: 127.0.0.1\r\n")
  browser.socket.destroy()
})
