import { describe, expect, test } from "bun:test"
import { httpConnection } from "./http-connection.ts"

/** Writes `parts` one after the other to a port that responds with its request. Returns the response. */
async function answerTo(...parts: string[]): Promise<{ readonly text: string; readonly error: string }> {
  const { data, error } = httpConnection(
    8080,
    async (request) => new Response(`${request.method} ${new URL(request.url).pathname} ${await request.text()}`),
    async () => undefined,
  )
  const text = (async () => {
    let all = ""
    for await (const part of data as AsyncIterable<Buffer>) all += part.toString()
    return all
  })()
  for (const part of parts) data.write(part)
  return { text: await text, error: await error }
}
const OK = (body: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
/** Without the type, which is the runtime's to say. */
const bare = (text: string) => text.replace(/content-type: [^\r]*\r\n/i, "")

describe("a connection to a simulated port", () => {
  test.each([
    ["a request without a body", ["GET /a HTTP/1.1\r\nHost: x\r\n\r\n"], OK("GET /a ")],
    ["a request that arrives in pieces", ["GET /a HT", "TP/1.1\r\nHost: x\r\n", "\r\n"], OK("GET /a ")],
    ["a body of known length", ["POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe", "llo"], OK("POST /a hello")],
    [
      "a chunked body",
      ["PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n", "2\r\nlo\r\n0\r\n\r\n"],
      OK("PUT /a hello"),
    ],
    [
      "a body after 100 Continue",
      ["POST /a HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n", "hi"],
      `HTTP/1.1 100 Continue\r\n\r\n${OK("POST /a hi")}`,
    ],
    ["HEAD", ["HEAD /a HTTP/1.1\r\n\r\n"], OK("HEAD /a ").slice(0, -"HEAD /a ".length)],
  ])("responds to %s", async (_what, parts, answer) => {
    const { text, error } = await answerTo(...parts)
    expect([bare(text), error]).toEqual([answer, ""])
  })

  test("ends with an error for data that is not HTTP, and when nothing listens", async () => {
    expect(await answerTo("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")).toEqual({
      text: "",
      error: "an error occurred forwarding 8080: malformed chunked encoding",
    })
    const refused = httpConnection(
      81,
      async () => new Response(),
      () => Promise.reject(new Error("connect: connection refused")),
    )
    expect(await refused.error).toBe("an error occurred forwarding 81: connect: connection refused")
  })
})
