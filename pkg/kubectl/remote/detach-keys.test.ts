import { expect, test } from "bun:test"
import { parseDetachKeys, untilDetached } from "./detach-keys.ts"

async function* parts(texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text)
}

test.each([
  ["are not pressed", ["hello", "\x10x"], "hello\x10x"],
  ["end the input", ["hel", "lo\x10\x11more"], "hello"],
  ["come in two parts", ["a\x10", "\x11b"], "a"],
  ["are pressed after another try", ["\x10\x10\x11b"], "\x10"],
])("keys that detach: they %s", async (_title, typed, sent) => {
  let text = ""
  for await (const part of untilDetached(parts(typed), parseDetachKeys(""))) text += new TextDecoder().decode(part)
  expect(text).toBe(sent)
})

test("keys have names", () => {
  expect(parseDetachKeys("ctrl-a,b,ctrl-]")).toEqual([1, 98, 0x1d])
  expect(() => parseDetachKeys("ctrl-p,what")).toThrow("could not bind detach keys: Unknown character: 'what'")
})
