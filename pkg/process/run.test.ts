import { expect, test } from "bun:test"
import { Readable } from "node:stream"
import { run } from "./run.ts"

test("a program gets its input, and its output is returned", async () => {
  expect(await run("cat", [], { input: "a line" })).toBe("a line")
  expect(await run("cat", [], { input: Readable.from(["two ", "parts"]) })).toBe("two parts")
})

test("a program that does not exist is named in the error, with and without input", async () => {
  for (const input of [undefined, "text", Readable.from(["text"])]) {
    const options = input === undefined ? {} : { input }
    await expect(run("no-such-program", ["-q"], options)).rejects.toThrow(/^no-such-program -q failed: .*not found/)
  }
})

test("a program that fails before it has read its input reports its own error", async () => {
  const input = Readable.from(Array.from({ length: 100 }, () => "x".repeat(100_000)))
  await expect(run("sh", ["-c", "echo the reason >&2; exit 3"], { input })).rejects.toThrow("failed: the reason")
})

test("the error of the input stream is returned to the caller", async () => {
  const input = new Readable({
    read() {
      this.destroy(new Error("the archive ends too early"))
    },
  })
  await expect(run("cat", [], { input })).rejects.toThrow("the archive ends too early")
})
