import { describe, expect, test } from "bun:test"
import { TextOutput } from "./output.ts"
import { TabWriter } from "./tab-writer.ts"

const laidOut = async (texts: readonly string[], rememberWidths = true): Promise<string> => {
  const out = new TextOutput()
  const table = new TabWriter(out, { minWidth: 6, padding: 3, rememberWidths })
  for (const text of texts) {
    await table.write(text)
    await table.flush()
  }
  return out.text
}

describe("TabWriter", () => {
  test("makes a column as wide as its widest cell and three more", async () => {
    expect(await laidOut(["NAME\tAGE\na-long-name\t5m\n"])).toBe("NAME          AGE\na-long-name   5m\n")
  })

  test("makes a column at least six wide", async () => {
    expect(await laidOut(["a\tb\n"])).toBe("a     b\n")
  })

  test("ends a column at a line that has no cell in it", async () => {
    expect(await laidOut(["long-name\tb\nplain\na\tb\n"], false)).toBe("long-name   b\nplain\na     b\n")
  })

  test("keeps the widths of earlier lines after a flush", async () => {
    expect(await laidOut(["long-name\tb\n", "a\tb\n"])).toBe("long-name   b\na           b\n")
  })

  test("counts characters, not bytes or units of UTF-16", async () => {
    expect(await laidOut(["héllo wörld 😀\tx\nn\ty\n"])).toBe("héllo wörld 😀   x\nn               y\n")
  })

  test("takes a vertical tab for a tab, and a form feed for the end of all columns", async () => {
    expect(await laidOut(["a\vb\n"])).toBe("a     b\n")
    expect(await laidOut(["long-name\tb\f", "a\tb\n"], false)).toBe("long-name   b\na     b\n")
  })

  test("does not fill up the cell before a tab that ends the text", async () => {
    expect(await laidOut(["a\tb\t"])).toBe("a     b")
  })
})
