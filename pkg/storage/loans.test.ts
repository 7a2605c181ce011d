import { expect, spyOn, test } from "bun:test"
import { Loans } from "./loans.ts"
import type { Shelved } from "./shelf.ts"
import type { Elsewhere } from "./stored-object.ts"

const shelved = (name: string, revision = 1): Shelved => ({ key: `/events/${name}`, revision, created: 1, time: 0 })

/** A place whose contents can go. */
function place() {
  const gone = new Set<number>()
  const elsewhere: Elsewhere = {
    parse: undefined,
    read(revision) {
      if (gone.has(revision)) throw new Error(`revision ${revision} is gone`)
      return new TextEncoder().encode(`{"revision":${revision}}`)
    },
  }
  return { elsewhere, gone }
}

test("every object that was lent keeps its content when that is about to go", () => {
  // given an object that was read alone, and in two lists
  const { elsewhere, gone } = place()
  const loans = new Loans(false)
  const alone = loans.lendOne(shelved("b"), elsewhere)
  const [, inFirst] = loans.lend([shelved("a", 2), shelved("b"), shelved("c", 3)], elsewhere)
  const [inSecond, notHeld] = loans.lend([shelved("b"), shelved("c", 3)], elsewhere)
  // when
  loans.hold("/events/b")
  gone.add(1).add(3)
  // then
  for (const stored of [alone, inFirst!, inSecond!]) expect(stored.object as unknown).toEqual({ revision: 1 })
  expect(() => notHeld!.object).toThrow("revision 3 is gone")
})

test("an object that is read again while it is in use is the same, and another one in another revision", () => {
  const { elsewhere } = place()
  const loans = new Loans(false)
  const first = loans.lendOne(shelved("a"), elsewhere)
  expect(loans.lendOne(shelved("a"), elsewhere)).toBe(first)
  const later = loans.lendOne(shelved("a", 5), elsewhere)
  expect(later.object as unknown).toEqual({ revision: 5 })
  expect(first.object as unknown).toEqual({ revision: 1 })
})

test("a write asks for none but the loans that may contain its object, however many there are", () => {
  // given thousands of objects that were read alone, and hundreds of lists of others
  const { elsewhere } = place()
  const loans = new Loans(false)
  const inUse = [
    ...Array.from({ length: 3000 }, (_, i) => loans.lendOne(shelved(`one-${i}`, i), elsewhere)),
    ...Array.from({ length: 300 }, (_, i) => loans.lend([shelved(`x-${i}-a`), shelved(`x-${i}-b`)], elsewhere)),
  ]
  const asked = spyOn(WeakRef.prototype, "deref")
  try {
    // when
    loans.hold("/events/one-17")
    loans.hold("/events/x-17-b")
    loans.hold("/pods/web")
    // then
    expect(asked).toHaveBeenCalledTimes(2)
    expect(inUse).toHaveLength(3300)
  } finally {
    asked.mockRestore()
  }
})
