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
    expect(expand(text, (name) => values[name])).toBe(expected)
  })
})
