import { expect, test } from "bun:test"
import { inMacrotask, nextMacrotask } from "./macrotask.ts"

/** Resolves after as many microtasks. */
async function later(microtasks: number): Promise<void> {
  for (let at = 0; at < microtasks; at++) await Promise.resolve()
}

test("all promises of one callback run before the next, also where the runner calls immediates in batches", async () => {
  // given
  const order: string[] = []
  const run = async (): Promise<string[]> => {
    // when
    inMacrotask(() => void later(5).then(() => order.push("promises of the first")))
    inMacrotask(() => order.push("second"))
    await nextMacrotask()
    return order
  }
  // then
  await expect(run()).resolves.toEqual(["promises of the first", "second"])
})
