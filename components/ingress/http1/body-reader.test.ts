import { describe, expect, test } from "bun:test"
import { BodyReader } from "./body-reader.ts"
import type { Framing } from "../messages/head.ts"

/** Reads a body from `text`, which arrives in pieces of `size` bytes. */
function read(framing: Framing, text: string, size = text.length) {
  const found = { body: "", trailers: undefined as readonly string[] | undefined, rest: "" }
  const reader = new BodyReader(framing, {
    data: (chunk) => void (found.body += chunk.toString("latin1")),
    end: (trailers) => void (found.trailers = trailers.map(({ name, value }) => `${name}=${value}`)),
  })
  reader.begin()
  const bytes = Buffer.from(text, "latin1")
  for (let at = 0; at < bytes.length; at += Math.max(size, 1)) {
    const piece = bytes.subarray(at, at + Math.max(size, 1))
    found.rest += piece.toString("latin1", reader.take(piece))
  }
  const complete = reader.closed()
  return { ...found, complete }
}
const CHUNKED: Framing = { kind: "chunked" }

describe("a body", () => {
  test.each([
    { title: "without framing is empty", framing: { kind: "none" }, text: "rest", wants: { body: "", rest: "rest" } },
    {
      title: "of length 0 is empty",
      framing: { kind: "length", length: 0 },
      text: "rest",
      wants: { body: "", rest: "rest" },
    },
    {
      title: "with a Content-Length ends after its length",
      framing: { kind: "length", length: 4 },
      text: "bodyrest",
      wants: { body: "body", rest: "rest" },
    },
    {
      title: "without a length ends with the connection",
      framing: { kind: "close" },
      text: "all of it",
      wants: { body: "all of it", rest: "" },
    },
    {
      title: "in chunks ends with the last chunk",
      framing: CHUNKED,
      text: "3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\nrest",
      wants: { body: "abcd", rest: "rest" },
    },
    {
      title: "in chunks with trailers ends after the trailers",
      framing: CHUNKED,
      text: "A\r\n0123456789\r\n000\r\nGrpc-Status: 0\r\nX: y\r\n\r\nrest",
      wants: { body: "0123456789", trailers: ["Grpc-Status=0", "X=y"], rest: "rest" },
    },
  ] as const)("$title, in pieces of any size", ({ framing, text, wants }) => {
    for (const size of [text.length, 1, 2, 3, 7])
      expect(read(framing, text, size)).toEqual({ trailers: [], complete: true, ...wants })
  })

  test.each([
    { title: "a chunk size that is no number", text: "x\r\n" },
    { title: "a negative chunk size", text: "-1\r\n" },
    { title: "a chunk size with a prefix", text: "0x1\r\n" },
    { title: "a chunk size that is too large", text: "1234567890abc\r\n" },
    { title: "a space before the chunk size", text: " 1\r\na\r\n" },
    { title: "line feeds without carriage returns", text: "1\na\n0\n\n" },
    { title: "a chunk that is longer than its size", text: "1\r\nab\r\n" },
    { title: "chunk extensions that are too long", text: `1;${"x".repeat(2000)}` },
    { title: "trailers that are too long", text: `0\r\n${"x: y\r\n".repeat(4000)}` },
    { title: "a trailer without a name", text: "0\r\n: y\r\n\r\n" },
    { title: "a trailer with a NUL", text: "0\r\nx: \0\r\n\r\n" },
  ])("in chunks with $title is refused", ({ text }) => {
    for (const size of [text.length, 1]) expect(() => read(CHUNKED, text, size)).toThrow(/chunk|trailer|header/)
  })

  test("that ends too early is reported as incomplete", () => {
    expect(read({ kind: "length", length: 9 }, "short").complete).toBe(false)
    expect(read(CHUNKED, "5\r\nabc").complete).toBe(false)
    expect(read(CHUNKED, "0\r\n").complete).toBe(false)
  })
})
