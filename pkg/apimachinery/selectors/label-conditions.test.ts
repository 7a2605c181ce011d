import { expect, test } from "bun:test"
import { seededRandom } from "../../clock/random.ts"
import { parseLabelSelector } from "./labels.ts"

const KEYS = ["a", "b", "c", "d"]
const VALUES = ["", "x", "y", "1", "5", "-3"]
const TERMS = ["a", "!a", "a=x", "a!=x", "a in (x,y)", "a notin (x,)", "a>1", "a<5"]

test("many requirements select what each of them alone does, for random selectors and labels", () => {
  const random = seededRandom(5)
  const one = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!
  for (let i = 0; i < 2000; i++) {
    // given more requirements than are asked one by one
    const terms = Array.from({ length: 1 + Math.floor(random.next() * 3) }, () => one(TERMS).replace("a", one(KEYS)))
    const padded = [...terms, ...Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? `!z${n}` : `z${n}!=1`))].join(",")
    const labels = Object.fromEntries(KEYS.filter(() => random.next() < 0.6).map((key) => [key, one(VALUES)]))

    const alone = terms.every((term) => parseLabelSelector(term).matches(labels))

    expect({ padded, labels, matches: parseLabelSelector(padded).matches(labels) }).toEqual({
      padded,
      labels,
      matches: alone,
    })
  }
})

test("a selector of thousands of requirements reads no more of an object than its labels", () => {
  // given an object that counts how often its labels are read
  let reads = 0
  const target: Record<string, string> = { app: "web", tier: "front" }
  const labels = new Proxy(target, {
    get: (_, key) => (reads++, target[key as string]),
    getOwnPropertyDescriptor: (_, key) => (reads++, Object.getOwnPropertyDescriptor(target, key)),
  })
  const selector = parseLabelSelector(
    Array.from({ length: 4000 }, (_, i) => `!k${i},app!=v${i},app in (web)`).join(","),
  )

  expect(selector.matches(labels)).toBe(true)
  expect(reads).toBeLessThan(20)
})
