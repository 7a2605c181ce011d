import { expect, test } from "bun:test"
import { pages } from "./served.ts"

test.each([...pages()])("the tables in $file list what is served and what is missing", ({ text, wanted }) => {
  // `bun hack/served.ts` writes it
  expect(text).toBe(wanted)
})
