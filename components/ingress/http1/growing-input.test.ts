import { expect, test } from "bun:test"
import { GrowingInput } from "./growing-input.ts"

test("bytes that arrive in small parts are put together, and earlier results and what is left of them stay valid", () => {
  // given
  const growing = new GrowingInput()
  const part = (i: number) => Buffer.from(`${i},`)
  let input: Buffer = part(0)
  const earlier: Buffer[] = []
  const rooms = new Set<ArrayBufferLike>()
  // when parts arrive, and now and then the first bytes are used
  let used = ""
  for (let i = 1; i < 20_000; i++) {
    input = growing.append(input, part(i))
    rooms.add(input.buffer)
    if (i % 1000 === 0) {
      earlier.push(input)
      used += input.toString("latin1", 0, 100)
      input = input.subarray(100)
    }
  }
  // then
  const whole = Array.from({ length: 20_000 }, (_, i) => `${i},`).join("")
  expect(used + input.toString("latin1") === whole).toBe(true)
  expect(earlier.every((bytes) => whole.includes(bytes.toString("latin1")))).toBe(true)
  expect(rooms.size).toBeLessThan(12)
})
