import { describe, expect, test } from "bun:test"
import { hostOf, MalformedMessage, parseRequestHead, parseResponseHead } from "./head.ts"

const request = (...lines: readonly string[]) => parseRequestHead(lines.join("\r\n"))
const response = (method: string, ...lines: readonly string[]) => parseResponseHead(lines.join("\r\n"), method)

/** Returns the status with which a message is refused; undefined if it is accepted. */
function refusal(parse: () => unknown): number | undefined {
  try {
    parse()
    return undefined
  } catch (err) {
    if (err instanceof MalformedMessage) return err.status
    throw err
  }
}

describe("the head of a request", () => {
  test("is parsed, with field names in their spelling", () => {
    expect(request("POST /a?b=c HTTP/1.1", "Host: Shop.Example:8080", "X-Thing:  some thing ")).toEqual({
      method: "POST",
      target: "/a?b=c",
      authority: "Shop.Example:8080",
      host: "shop.example",
      minorVersion: 1,
      fields: [
        { name: "Host", key: "host", value: "Shop.Example:8080" },
        { name: "X-Thing", key: "x-thing", value: "some thing" },
      ],
      framing: { kind: "none" },
      keepAlive: true,
      upgrade: undefined,
      expectsContinue: false,
    })
  })

  test.each([
    { title: "Content-Length", lines: ["Content-Length: 5"], wants: { framing: { kind: "length", length: 5 } } },
    {
      title: "Transfer-Encoding: chunked",
      lines: ["Transfer-Encoding: Chunked"],
      wants: { framing: { kind: "chunked" } },
    },
    { title: "Connection: close", lines: ["Connection: x, close"], wants: { keepAlive: false } },
    { title: "Upgrade", lines: ["Connection: Upgrade", "Upgrade: websocket"], wants: { upgrade: "websocket" } },
    {
      title: "an upgrade to HTTP/2, which is ignored",
      lines: ["Connection: Upgrade", "Upgrade: H2C"],
      wants: { upgrade: undefined },
    },
    {
      title: "upgrades to HTTP/2 and another protocol, of which the other one counts",
      lines: ["Connection: Upgrade", "Upgrade: h2c, websocket"],
      wants: { upgrade: "websocket" },
    },
    { title: "an Upgrade that Connection does not name", lines: ["Upgrade: websocket"], wants: { upgrade: undefined } },
    { title: "Expect: 100-continue", lines: ["Expect: 100-Continue"], wants: { expectsContinue: true } },
  ])("can contain $title", ({ lines, wants }) => {
    expect(request("GET / HTTP/1.1", "Host: a", ...lines)).toMatchObject(wants)
  })

  test("with an absolute URL has the host of the URL", () => {
    expect(request("GET http://b.example:81/x?y HTTP/1.1", "Host: a")).toMatchObject({
      authority: "b.example:81",
      host: "b.example",
      target: "/x?y",
    })
    expect(request("GET http://b.example HTTP/1.1", "Host: a").target).toBe("/")
    expect(request("GET http://b.example?x HTTP/1.1", "Host: a").target).toBe("/?x")
  })

  test.each([
    { title: "no Host", lines: ["GET / HTTP/1.1"], status: 400 },
    { title: "two Hosts", lines: ["GET / HTTP/1.1", "Host: a", "host: b"], status: 400 },
    { title: "a host with a slash", lines: ["GET / HTTP/1.1", "Host: a/b"], status: 400 },
    { title: "a host with a user name", lines: ["GET http://u@a/ HTTP/1.1", "Host: a"], status: 400 },
    {
      title: "two different lengths",
      lines: ["GET / HTTP/1.1", "Host: a", "Content-Length: 1", "Content-Length: 1"],
      status: 400,
    },
    { title: "a list of lengths", lines: ["GET / HTTP/1.1", "Host: a", "Content-Length: 1, 1"], status: 400 },
    { title: "a length with a sign", lines: ["GET / HTTP/1.1", "Host: a", "Content-Length: +1"], status: 400 },
    { title: "a hexadecimal length", lines: ["GET / HTTP/1.1", "Host: a", "Content-Length: 0x1"], status: 400 },
    {
      title: "a length before Transfer-Encoding",
      lines: ["POST / HTTP/1.1", "Host: a", "Content-Length: 1", "Transfer-Encoding: chunked"],
      status: 400,
    },
    {
      title: "a length after Transfer-Encoding",
      lines: ["POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Content-Length: 1"],
      status: 400,
    },
    {
      title: "Transfer-Encoding: chunked twice",
      lines: ["POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
      status: 400,
    },
    {
      title: "a no-break space after chunked",
      lines: ["POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked\xa0"],
      status: 400,
    },
    {
      title: "a no-break space after a length",
      lines: ["GET / HTTP/1.1", "Host: a", "Content-Length: 3\xa0"],
      status: 400,
    },
    { title: "a no-break space before a host", lines: ["GET / HTTP/1.1", "Host: \xa0a"], status: 400 },
    {
      title: "another transfer coding",
      lines: ["POST / HTTP/1.1", "Host: a", "Transfer-Encoding: gzip, chunked"],
      status: 501,
    },
    {
      title: "a control character in Transfer-Encoding",
      lines: ["POST / HTTP/1.1", "Host: a", "Transfer-Encoding: \x0bchunked"],
      status: 400,
    },
    { title: "a space before the colon", lines: ["POST / HTTP/1.1", "Host: a", "Content-Length : 1"], status: 400 },
    { title: "a folded header line", lines: ["GET / HTTP/1.1", "Host: a", "X: 1", " 2"], status: 400 },
    { title: "a lone line feed", lines: ["GET / HTTP/1.1", "Host: a\nX: 1"], status: 400 },
    { title: "a lone carriage return", lines: ["GET / HTTP/1.1", "Host: a\rX: 1"], status: 400 },
    { title: "a NUL", lines: ["GET / HTTP/1.1", "Host: a", "X: \0"], status: 400 },
    { title: "a header without a colon", lines: ["GET / HTTP/1.1", "Host: a", "nothing"], status: 400 },
    { title: "two spaces in its first line", lines: ["GET  / HTTP/1.1", "Host: a"], status: 400 },
    { title: "chunks in HTTP/1.0", lines: ["POST / HTTP/1.0", "Transfer-Encoding: chunked"], status: 400 },
    { title: "CONNECT", lines: ["CONNECT a:443 HTTP/1.1", "Host: a:443"], status: 400 },
    { title: "HTTP/0.9", lines: ["GET /"], status: 400 },
    { title: "HTTP/3.0", lines: ["GET / HTTP/3.0", "Host: a"], status: 505 },
    { title: "an unknown expectation", lines: ["GET / HTTP/1.1", "Host: a", "Expect: wonders"], status: 417 },
    { title: "too many headers", lines: ["GET / HTTP/1.1", ...Array<string>(201).fill("X: 1")], status: 431 },
  ])("with $title is refused with $status", ({ lines, status }) => {
    expect(refusal(() => request(...lines))).toBe(status)
  })

  test.each([
    { authority: "a.example", wants: "a.example" },
    { authority: "A.Example.:80", wants: "a.example" },
    { authority: "[::1]:80", wants: "[::1]" },
    { authority: "[::1]", wants: "[::1]" },
    { authority: "", wants: "" },
    { authority: ":80", wants: "" },
  ])("the host of $authority is $wants", ({ authority, wants }) => {
    expect(hostOf(authority)).toBe(wants)
  })
})

describe("the head of a response", () => {
  test.each([
    { method: "GET", lines: ["HTTP/1.1 200 OK"], wants: { framing: { kind: "close" }, keepAlive: false } },
    { method: "GET", lines: ["HTTP/1.1 200", "Content-Length: 3"], wants: { framing: { kind: "length", length: 3 } } },
    { method: "HEAD", lines: ["HTTP/1.1 200 OK", "Content-Length: 3"], wants: { framing: { kind: "none" } } },
    { method: "GET", lines: ["HTTP/1.1 204 No Content"], wants: { framing: { kind: "none" }, keepAlive: true } },
    { method: "GET", lines: ["HTTP/1.1 304 Not Modified", "Content-Length: 3"], wants: { framing: { kind: "none" } } },
    { method: "GET", lines: ["HTTP/1.0 200 OK", "Content-Length: 3"], wants: { keepAlive: false } },
    { method: "GET", lines: ["HTTP/1.1 404 Not Found Here", "Content-Length: 0"], wants: { reason: "Not Found Here" } },
  ])("to $method is parsed: $lines", ({ method, lines, wants }) => {
    expect(response(method, ...lines)).toMatchObject(wants)
  })

  test.each([
    { title: "a status that is no number", line: "HTTP/1.1 OK" },
    { title: "another protocol", line: "HTTP/2 200 OK" },
    { title: "an empty status line", line: "" },
  ])("with $title is refused", ({ line }) => {
    expect(refusal(() => response("GET", line))).toBe(400)
  })
})
