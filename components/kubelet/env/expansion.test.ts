import { describe, expect, test } from "bun:test"
import { expand } from "./expansion.ts"

describe("expand", () => {
  // given these variables
  const values: Record<string, string> = { VAR_A: "A", VAR_B: "B", EMPTY: "", REF: "$(VAR_A)" }

  test.each([
    ["nothing to do", "nothing to do"],
    ["$(VAR_A)", "A"],
    ["__$(VAR_A)__", "__A__"],
    ["$(VAR_A)-$(VAR_B)", "A-B"],
    ["$(VAR_A)$(VAR_A)", "AA"],
    ["[$(EMPTY)]", "[]"],
    // no second round
    ["$(REF)", "$(VAR_A)"],
    // unknown, unclosed or no reference: stays as it is
    ["$(UNKNOWN)", "$(UNKNOWN)"],
    ["$(VAR_A", "$(VAR_A"],
    ["$()", "$()"],
    ["$VAR_A", "$VAR_A"],
    ["${VAR_A}", "${VAR_A}"],
    ["cost: 5$", "cost: 5$"],
    ["$(A$(VAR_B))", "$(A$(VAR_B))"],
    // a doubled operator is one, and ends there
    ["$$", "$"],
    ["$$(VAR_A)", "$(VAR_A)"],
    ["$$$(VAR_A)", "$A"],
    ["$$$$(VAR_A)", "$$(VAR_A)"],
    ["a$$b$(VAR_B)", "a$bB"],
  ])("expands %p to %p", (text, expected) => {
    // when, then
    expect(expand(text, (name) => values[name], 1000)).toBe(expected)
  })

  test("keeps the bytes of a value that is not UTF-8", () => {
    const raw = Uint8Array.of(0x61, 0xff, 0xfe)
    expect(expand("<$(RAW)é>", () => raw, 100)).toEqual(Buffer.concat([Buffer.from("<"), raw, Buffer.from("é>")]))
  })

  test("stops at the longest result, and allocates no more than that", () => {
    // given a short text that names a long value very often
    let asked = 0
    const valueOf = () => {
      asked++
      return "x".repeat(1000)
    }
    // when, then: the eleventh is too much
    expect(() => expand("$(V)".repeat(100_000), valueOf, 10_000)).toThrow("is longer than 10000 bytes")
    expect(asked).toBe(11)
  })
})
