import { expect, test } from "bun:test"
import { madeOnce } from "./made-once.ts"

test("a value is made once, for all who ask meanwhile too", async () => {
  let makes = 0
  const value = madeOnce(async () => ++makes)
  expect(await Promise.all([value(), value()])).toEqual([1, 1])
  expect(await value()).toBe(1)
})

test("a value that could not be made is made again by the next call", async () => {
  let isBroken = true
  const value = madeOnce(async () => {
    if (isBroken) throw new Error("no file descriptors")
    return "value"
  })
  await expect(value()).rejects.toThrow("no file descriptors")
  isBroken = false
  expect(await value()).toBe("value")
})
