import { fullGC, heapStats } from "bun:jsc"
import { expect, test } from "bun:test"
import { saveMemoryAtRest } from "../cache/at-rest.ts"
import { seededRandom } from "../clock/random.ts"
import { Shelf, type Shelved } from "./shelf.ts"

const PREFIX = "/registry/core/events/"
const byKey = (a: Shelved, b: Shelved) => (a.key < b.key ? -1 : 1)

test("a shelf returns its entries in the order of keys, whatever was removed before", () => {
  const random = seededRandom(3)
  const pick = (count: number) => Math.floor(random.next() * count)
  const shelf = new Shelf(PREFIX)
  const plain = new Map<string, Shelved>()
  for (let round = 1; round < 200; round++) {
    // when some are added together, of which one's key may begin another's, and some are deleted
    const added = new Map<string, Shelved>()
    for (let i = pick(60); i > 0; i--) {
      const key = `${PREFIX}${["a", "a-b", "b"][pick(3)]!}/web-${pick(900)}${["", ".1", "-x"][pick(3)]!}`
      const revision = round * 1000 + i
      if (!plain.has(key)) added.set(key, { key, revision, created: revision - pick(2), time: 1_780_000_000_000 + i })
    }
    shelf.add([...added.values()])
    for (const [key, shelved] of added) plain.set(key, shelved)
    for (const key of [...plain.keys()].filter(() => pick(4) === 0)) {
      expect(shelf.delete(key) !== undefined).toBe(plain.delete(key))
      expect(shelf.delete(key)).toBeUndefined()
    }
    if (round % 5 === 0) saveMemoryAtRest()
    // then it holds what is left
    const [some] = plain.keys()
    if (some !== undefined) expect(shelf.get(some)).toEqual(plain.get(some))
    expect(shelf.get(`${PREFIX}a/none`)).toBeUndefined()
    for (const prefix of [
      "/registry/",
      PREFIX,
      `${PREFIX}a/`,
      `${PREFIX}a-b/`,
      `${PREFIX}a/web-7`,
      "/registry/core/pods/",
    ])
      expect(shelf.startingWith(prefix)).toEqual(
        [...plain.values()].filter(({ key }) => key.startsWith(prefix)).sort(byKey),
      )
    // and shows some at a time, after any key
    for (const prefix of [PREFIX, `${PREFIX}a/`, `${PREFIX}a-b/`, `${PREFIX}none/`])
      for (const after of [undefined, some, `${PREFIX}a/web-7`, prefix]) {
        const wanted = shelf.startingWith(prefix).filter(({ key }) => after === undefined || key > after)
        const limit = 1 + pick(300)
        expect(shelf.page(prefix, after, limit)).toEqual({
          items: wanted.slice(0, limit),
          remaining: Math.max(0, wanted.length - limit),
        })
      }
    expect(shelf.isEmpty).toBe(plain.size === 0)
  }
})

test("a shelf refuses keys with characters that its lines cannot contain", () => {
  const shelf = new Shelf(PREFIX)
  expect([`${PREFIX}a/web`, `${PREFIX}a/we b`, `${PREFIX}a/we\nb`].map((key) => shelf.holds(key))).toEqual([
    true,
    false,
    false,
  ])
})

test("a shelf to which very many were added, some at a time, holds them all in order", () => {
  const shelf = new Shelf(PREFIX)
  const all = Array.from({ length: 40_000 }, (_, i) => ({
    key: `${PREFIX}a/web-${(i * 7919) % 40_000}`,
    revision: i + 1,
    created: i + 1,
    time: 1_780_000_000_000,
  }))
  for (let from = 0; from < all.length; from += 1500) shelf.add(all.slice(from, from + 1500))
  // when one of the first and one of the last are deleted
  const gone = [all[3]!, all.at(-3)!]
  for (const { key } of gone) expect(shelf.delete(key)?.key).toBe(key)
  // then the others are there
  expect(shelf.startingWith(PREFIX)).toEqual(all.filter((shelved) => !gone.includes(shelved)).sort(byKey))
  expect(shelf.get(all[4]!.key)).toEqual(all[4])
  expect(gone.map(({ key }) => shelf.get(key))).toEqual([undefined, undefined])
})

test("at rest a shelf takes less than half of its memory, and holds the same", () => {
  // given the Events of some hundred pods
  const random = seededRandom(5)
  const shelf = new Shelf(PREFIX)
  const all = Array.from({ length: 20_000 }, (_, i) => {
    const suffix = (0x187a_3c00_0000_0000n + BigInt(Math.floor(random.next() * 1e15))).toString(16)
    const key = `${PREFIX}default/web-6f9c7b8d5-${String(i >> 3).padStart(5, "x")}.${suffix}`
    return { key, revision: i + 1, created: i + 1, time: 1_780_000_000_000 + 100 * i }
  })
  const bytes = () => {
    fullGC()
    return heapStats().heapSize
  }
  const before = bytes()
  shelf.add(all)
  const busy = bytes() - before
  // when
  saveMemoryAtRest()
  // then
  expect(bytes() - before).toBeLessThan(busy / 2)
  expect(shelf.startingWith(PREFIX)).toEqual(all.toSorted(byKey))
})
