import { expect, test } from "bun:test"
import { TabAligner } from "./tab-aligner.ts"

/** Returns the aligned text, with `.` for each space. */
function aligned(text: string, minWidth = 0): string[] {
  const out = new TabAligner({ minWidth, padding: 2 })
  return (out.push(text) + out.flush()).replaceAll(" ", ".").split("\n")
}

// Source of the expectations: Go's text/tabwriter, and its tests.
test.each([
  { title: "cells of neighbouring lines in columns", text: "a\tb\nccc\td\n", wants: ["a....b", "ccc..d", ""] },
  { title: "a column only as wide as its block", text: "a\tb\nx\nlonger\td\n", wants: ["a..b", "x", "longer..d", ""] },
  { title: "the last cell without a column", text: "a\tlong text\nb\tc\td\n", wants: ["a..long text", "b..c..d", ""] },
  { title: "empty cells as spaces", text: "a\t\tb\n\t\tc\n", wants: ["a....b", ".....c", ""] },
  { title: "spaces after a cell that a tab ends", text: "a \t\nbc\t\n", wants: ["a...", "bc..", ""] },
  { title: "text without an end of line", text: "a\tb", wants: ["a..b"] },
  { title: "characters beyond the first plane as one each", text: "😀\tb\nab\tc\n", wants: ["😀...b", "ab..c", ""] },
])("a tab aligner writes $title", ({ text, wants }) => {
  // given text with tabs, when it is written, then it is aligned
  expect(aligned(text)).toEqual(wants.map((line) => line.replaceAll(" ", ".")))
})

test("a tab aligner has columns of a least width", () => {
  // given a least width, when short cells are written, then the column has it
  expect(aligned("a\tb\n", 6)).toEqual(["a.....b", ""])
})

test("text after a flush is aligned by itself", () => {
  // given a wide column that was flushed
  const out = new TabAligner({ minWidth: 0, padding: 1 })
  const before = out.push("wide column\tx\n") + out.flush()

  // when more is written, then it does not have the width of the column before
  expect(before + out.push("a\tb\n") + out.flush()).toBe("wide column x\na b\n")
})
