import { expect, test } from "bun:test"
import { seededRandom, systemRandom, uuid } from "./random.ts"

test("random bytes have the requested length, are not all zero and never repeat", () => {
  // given more bytes in all than the system is asked for at a time
  const counts = Array.from({ length: 2000 }, (_, i) => 16 + (i % 50))
  // when
  const given = [...counts, 5000].map((count) => systemRandom.bytes(count))
  // then
  expect(given.map(({ length }) => length)).toEqual([...counts, 5000])
  expect(new Set(given.map((bytes) => Buffer.from(bytes.subarray(0, 16)).toString("hex"))).size).toBe(2001)
  // and what was given is the receiver's alone
  const [first] = given
  const before = Uint8Array.from(first!)
  for (let i = 0; i < 500; i++) systemRandom.bytes(32).fill(7)
  expect(first).toEqual(before)
})

test("a UUID has version 4, and the same seed gives the same UUID", () => {
  expect(uuid(systemRandom)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(uuid(seededRandom(1))).toBe(uuid(seededRandom(1)))
  expect(uuid(seededRandom(1))).toBe("a00087fb-f747-4cb8-adfe-747d23673f27")
})
