/** Messages of HTTP/1.1 for which `node:http2` throws, inside an event of a socket. */
import { expect, test } from "bun:test"
import { connect, createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2"
import type { AddressInfo } from "node:net"
import { backend, client, startProxy } from "../proxy/proxy.fixtures.ts"

/** A proxy with a backend of HTTP/2 that answers with trailers, and what this backend is asked. */
async function toHttp2() {
  const asked: { readonly headers: IncomingHttpHeaders; trailers?: IncomingHttpHeaders }[] = []
  const server = createServer()
  server.on("stream", (stream: ServerHttp2Stream, headers) => {
    const request: (typeof asked)[number] = { headers }
    asked.push(request)
    stream.on("trailers", (trailers: IncomingHttpHeaders) => (request.trailers = trailers))
    stream.on("error", () => undefined).resume()
    stream.on("end", () => {
      stream.respond({ ":status": 200 })
      stream.end("served")
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const proxy = await startProxy({ protocol: "h2c", endpoints: [(server.address() as AddressInfo).port] })
  return {
    proxy,
    asked,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]()
      server.close()
    },
  }
}

const SINGLE = [
  ...["Age", "Authorization", "Content-Location", "Content-Type", "Date", "Dnt", "Etag", "From", "If-Match"],
  ...["If-Modified-Since", "Location", "Max-Forwards", "Range", "Referer", "Retry-After", "User-Agent"],
]

test("fields that an HTTP/1.1 client sends twice reach an HTTP/2 backend as one value", async () => {
  await using given = await toHttp2()
  const browser = await client(given.proxy.port)
  for (const name of [...SINGLE, "X-Any"]) {
    browser.send(`GET / HTTP/1.1\r\nHost: a\r\n${name}: one\r\n${name}: two\r\n\r\n`)
    expect(await browser.until("0\r\n\r\n")).toStartWith("HTTP/1.1 200 ")
    expect(given.asked.at(-1)!.headers[name.toLowerCase()]).toBe("one, two")
  }
  browser.send("GET / HTTP/1.1\r\nHost: a\r\nCookie: a=1\r\nCookie: b=2\r\n\r\n")
  await browser.until("0\r\n\r\n")
  expect(given.asked.at(-1)!.headers.cookie).toBe("a=1; b=2")
  browser.socket.destroy()
})

test("trailers that are not allowed as trailers are dropped, and others reach an HTTP/2 backend", async () => {
  await using given = await toHttp2()
  const browser = await client(given.proxy.port)
  const trailers = ["Connection: x", "Content-Length: 9", "Authorization: me", "X_Real_Ip: 1", "Sum: 1", "Sum: 2"]
  browser.send(
    `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n${trailers.join("\r\n")}\r\n\r\n`,
  )
  await browser.until("served")
  expect(Object.entries(given.asked[0]!.trailers!)).toEqual([["sum", "1, 2"]])
  browser.socket.destroy()
})

test("an HTTP/1.1 response that HTTP/2 cannot carry ends only its own stream", async () => {
  // given
  using web = await backend()
  await using proxy = await startProxy({ endpoints: [web.port] })
  const session = connect(`https://localhost:${proxy.tlsPort}`, { rejectUnauthorized: false })
  const ask = async (answer: string) => {
    const stream = session.request({ ":path": "/", ":authority": "a" })
    const status = new Promise<unknown>((resolve) => {
      stream.on("response", (headers) => resolve(headers[":status"])).on("error", () => resolve("reset"))
    })
    const served = await web.connection()
    await served.until("\r\n\r\n")
    served.send(answer)
    served.socket.end()
    return status
  }
  // when
  expect(await ask("HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nok")).toBe("reset")
  // then
  const twice = SINGLE.map((name) => `${name}: one\r\n${name}: two\r\n`).join("")
  expect(await ask(`HTTP/1.1 200 OK\r\n${twice}Content-Length: 2\r\n\r\nok`)).toBe(200)
  session.destroy()
})
