import { expect, test } from "bun:test"
import { hostIn, timeLimit } from "./host.ts"

test.each([
  { title: "nothing has half a minute", length: 0, wants: 30_000 },
  { title: "the rules of 10 Services has hardly more", length: 10 * 1024, wants: 30_600 },
  { title: "the rules of 10,000 Services has minutes", length: 10_000 * 1024, wants: 630_000 },
])("a program whose input is $title", ({ length, wants }) => {
  expect(timeLimit(length)).toBe(wants)
})

test("an error output of a program is returned with its exit code", async () => {
  const fed = hostIn().feed("sh", ["-c", "cat >&2; exit 3"], "line 1 failed")
  await expect(fed).rejects.toThrow("sh failed with code 3: line 1 failed")
})
