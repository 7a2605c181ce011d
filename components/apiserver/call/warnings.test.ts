import { describe, expect, test } from "bun:test"
import { Warnings } from "./warnings.ts"

function headersOf(texts: readonly string[], overHttp2 = false): readonly string[] {
  const warnings = new Warnings()
  for (const text of texts) warnings.add(text)
  return warnings.headers(overHttp2)
}
const numbered = (count: number, length: number) => Array.from({ length: count }, (_, i) => `${i} `.padEnd(length, "x"))

describe("warnings", () => {
  test("are sent in order, without duplicates and empty ones", () => {
    expect(headersOf(["b", "a", "", "b"])).toEqual(['299 - "b"', '299 - "a"'])
  })

  test("are quoted, without characters that a header cannot hold", () => {
    expect(headersOf(['say "no" to C:\\ \r\nX: y'])).toEqual([String.raw`299 - "say \"no\" to C:\\   X: y"`])
  })

  test("are sent in UTF-8 over HTTP/2, and in ASCII over HTTP/1.1", () => {
    expect(headersOf(["größer → 😀"])).toEqual(['299 - "gr??er ? ?"'])
    const sent = headersOf(["größer → Größe", "c1\u0085", "half\ud83d"], true)
    expect(sent.map((header) => Buffer.from(header, "latin1").toString("utf8"))).toEqual([
      '299 - "größer → Größe"',
      '299 - "c1 "',
      '299 - "half\ufffd"',
    ])
  })

  test.each<{ readonly what: string; readonly texts: readonly string[]; readonly lengths: readonly number[] }>([
    { what: "that fit are complete", texts: numbered(4, 1000), lengths: [1000, 1000, 1000, 1000] },
    { what: "that do not fit are truncated", texts: numbered(5, 1000), lengths: [256, 256, 256, 256, 256] },
    { what: "that follow truncated ones are truncated too", texts: numbered(7, 1000), lengths: Array(7).fill(256) },
    { what: "are left out when the limit is reached", texts: numbered(100, 1000), lengths: Array(16).fill(256) },
    {
      what: "that are short are left out beyond the limit too",
      texts: numbered(5000, 30),
      lengths: Array(137).fill(30),
    },
  ])("$what", ({ texts, lengths }) => {
    expect(headersOf(texts).map((header) => header.length - '299 - ""'.length)).toEqual([...lengths])
  })
})
