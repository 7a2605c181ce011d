import { expect, test } from "bun:test"
import { Pool } from "./pool.ts"

test.each([
  [0, 1],
  [1, 1],
  [3, 3],
])("a pool of %d runs %d works at once, and ends with the first error", async (size, most) => {
  const pool = new Pool(size)
  let running = 0
  let highest = 0
  let failure: unknown
  const turns = async () => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  }
  try {
    for (let number = 0; number < 9; number++)
      await pool.run(async () => {
        highest = Math.max(highest, ++running)
        await turns()
        running--
        if (number === 8) throw new Error("the last one")
      })
    await pool.ended()
  } catch (err) {
    failure = err
  }
  expect([highest, running, failure]).toEqual([most, 0, new Error("the last one")])
})
