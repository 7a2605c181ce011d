import { expect, test } from "bun:test"
import { pages } from "./served.ts"

test.each([...pages()])("the tables of what is served and missing in $file are true", ({ text, wanted }) => {
  // `bun hack/served.ts` writes it
  expect(text).toBe(wanted)
})
