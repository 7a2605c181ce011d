import { describe, expect, test } from "bun:test"
import { argumentExpander } from "./program-limits.ts"

describe("the arguments of a container", () => {
  test("have the last value of a variable's name", () => {
    // given
    const expand = argumentExpander([
      { key: "A", value: "1" },
      { key: "A", value: "2" },
    ])
    // when, then
    expect(expand(["$(A) $(B) $$(A)", "x"])).toEqual(["2 $(B) $(A)", "x"])
  })

  const long = "x".repeat(100_000)
  const rows = [
    { texts: ["$(LONG)$(LONG)"], why: "an argument of the container has more than 131071 bytes" },
    { texts: Array.from({ length: 200_000 }, () => "$(LONG)"), why: "more than 6291456 bytes" },
    { texts: ["$(RAW)"], why: "is not UTF-8" },
  ]
  test.each(rows)("are refused where Linux could not pass them on: $why", ({ texts, why }) => {
    // given
    const expand = argumentExpander([
      { key: "LONG", value: long },
      { key: "RAW", value: Uint8Array.of(0xff) },
    ])
    // when, then
    expect(() => expand(texts)).toThrow(expect.objectContaining({ reason: "CreateContainerConfigError" }))
    expect(() => expand(texts)).toThrow(why)
  })
})
