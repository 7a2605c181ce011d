import { expect, test } from "bun:test"
import { pages } from "./served.ts"

test.each([...pages()])("the table of what is served in $file is that of the declarations", ({ text, wanted }) => {
  // `bun hack/served.ts` writes it
  expect(text).toBe(wanted)
})
