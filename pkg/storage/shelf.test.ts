import { expect, test } from "bun:test"
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
