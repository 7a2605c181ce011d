import { expect, spyOn, test } from "bun:test"
import { isTimeZone } from "./zone.ts"

/** Returns the first `count` ways to write a name in capital and small letters. */
function spellings(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, number) =>
    Array.from(name, (letter, i) => ((number >> i) & 1 ? letter.toUpperCase() : letter.toLowerCase())).join(""),
  )
}

test("a time zone in hundreds of spellings does not fill the memory", () => {
  // given zones that were asked for, the last of which is known
  const names = spellings("antarctica/casey", 600)
  const last = names.at(-1)!
  for (const name of names) isTimeZone(name)
  const formats = spyOn(Intl, "DateTimeFormat")
  try {
    isTimeZone(last)
    expect(formats).not.toHaveBeenCalled()
    // when the first one is asked for again, then it is no longer in memory
    isTimeZone(names[0]!)
    expect(formats).toHaveBeenCalled()
  } finally {
    formats.mockRestore()
  }
})
