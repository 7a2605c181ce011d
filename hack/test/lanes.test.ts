import { expect, test } from "bun:test"
import { lanesFor, runInLanes } from "./lanes.ts"
import type { Part } from "./part.ts"

const part = (name: string, beside: Part["beside"] = "all") => ({ name, beside })
const NODE = "no other node"

/** Runs parts, of which each ends when `end` is called with its name; `began` lists the names in the order of starts. */
function lab(parts: readonly ReturnType<typeof part>[], lanes: number) {
  const began: string[] = []
  const ends = new Map<string, () => void>()
  const done = runInLanes(parts, lanes, ({ name }) => {
    began.push(name)
    return new Promise((resolve) => ends.set(name, resolve))
  })
  const end = async (name: string) => {
    ends.get(name)!()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { began, end, done }
}

test("with one lane each part waits for the one before it", async () => {
  // given
  const { began, end, done } = lab([part("a"), part("n", NODE), part("b")], 1)
  // then
  expect(began).toEqual(["a"])
  await end("a")
  expect(began).toEqual(["a", "n"])
  await end("n")
  await end("b")
  await done
  expect(began).toEqual(["a", "n", "b"])
})

test("with two lanes parts of nodes run one after another, beside all others", async () => {
  // given
  const { began, end, done } = lab([part("a"), part("b"), part("n", NODE), part("m", NODE)], 2)
  // then a part of a node starts first
  expect(began).toEqual(["n", "a"])
  // when the lane of the others is free, no second part of a node starts
  await end("a")
  expect(began).toEqual(["n", "a", "b"])
  await end("b")
  expect(began).toEqual(["n", "a", "b"])
  await end("n")
  expect(began).toEqual(["n", "a", "b", "m"])
  await end("m")
  await done
})

test("a part that must run alone starts when all others have ended", async () => {
  // given
  const { began, end, done } = lab([part("k", "nothing"), part("a"), part("n", NODE)], 4)
  // then
  expect(began).toEqual(["n", "a"])
  await end("a")
  expect(began).toEqual(["n", "a"])
  await end("n")
  expect(began).toEqual(["n", "a", "k"])
  await end("k")
  await done
})

test.each([
  { processors: 1, lanes: 1 },
  { processors: 2, lanes: 3 },
])("on $processors processors $lanes parts run at a time", ({ processors, lanes }) => {
  expect(lanesFor(processors)).toBe(lanes)
})
