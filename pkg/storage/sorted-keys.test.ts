import { expect, test } from "bun:test"
import { seededRandom } from "../clock/random.ts"
import { resourceOf, SortedKeys } from "./sorted-keys.ts"

const PREFIXES = [
  "",
  "/registry/",
  "/registry/core/",
  "/registry/core/pods/",
  "/registry/core/pods/a/",
  "/registry/core/pods/a/7",
  "/registry/core/podtemplates/",
  "/registry/none/none/",
  "short",
]

test("keys with a prefix are returned in order, whatever was set and deleted before", () => {
  const random = seededRandom(7)
  const pick = (count: number) => Math.floor(random.next() * count)
  const keys = new SortedKeys<{ readonly key: string; readonly n: number }>()
  const plain = new Map<string, { readonly key: string; readonly n: number }>()
  for (let n = 0; n < 4000; n++) {
    const resource = ["core/pods", "core/podtemplates", "apps/deployments"][pick(3)]!
    const key = pick(50) === 0 ? `short${pick(5)}` : `/registry/${resource}/${["a", "b"][pick(2)]!}/${pick(400)}`
    if (pick(3) === 0) {
      keys.delete(key)
      plain.delete(key)
    } else {
      keys.set({ key, n })
      plain.set(key, { key, n })
    }
    if (n % 100 !== 0) continue
    expect(keys.size).toBe(plain.size)
    expect(keys.get(key)).toEqual(plain.get(key))
    for (const prefix of PREFIXES)
      expect(keys.startingWith(prefix)).toEqual(
        [...plain.values()].filter((value) => value.key.startsWith(prefix)).sort((a, b) => (a.key < b.key ? -1 : 1)),
      )
    // and so are those after a key, some at a time
    for (const prefix of PREFIXES.filter((prefix) => resourceOf(prefix) !== undefined))
      for (const after of [undefined, key, `${prefix}3`, prefix, "/registry/"]) {
        const wanted = keys.startingWith(prefix).filter((value) => after === undefined || value.key > after)
        const limit = 1 + pick(40)
        expect(keys.page(prefix, after, limit)).toEqual({
          items: wanted.slice(0, limit),
          remaining: Math.max(0, wanted.length - limit),
        })
      }
  }
})

test("a map from which all keys were deleted is empty, and can be filled again", () => {
  const keys = new SortedKeys<{ readonly key: string }>()
  for (let i = 0; i < 300; i++) keys.set({ key: `/registry/core/pods/a/${i}` })
  for (let i = 0; i < 300; i++) keys.delete(`/registry/core/pods/a/${i}`)
  expect([keys.size, keys.startingWith("")]).toEqual([0, []])
  keys.set({ key: "/registry/core/pods/a/1" })
  expect(keys.startingWith("/registry/core/pods/")).toEqual([{ key: "/registry/core/pods/a/1" }])
})
