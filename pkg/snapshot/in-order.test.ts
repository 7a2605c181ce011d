import { expect, test } from "bun:test"
import { seededRandom } from "../clock/random.ts"
import { realClock } from "../clock/real.ts"
import { inOrder } from "./in-order.ts"

test("objects are returned in the order of their revisions, however many there are", async () => {
  const random = seededRandom(7)
  for (const count of [0, 1, 2047, 2049, 10_000]) {
    // given objects in any order
    const revisions = Array.from({ length: count }, (_, i) => i).sort(() => random.next() - 0.5)

    // when they are taken
    const taken = await Array.fromAsync(
      inOrder(
        revisions.map((revision) => ({ revision })),
        realClock,
      ),
      ({ revision }) => revision,
    )

    // then none is missing, and each comes after those before it
    expect(taken).toEqual(revisions.toSorted((a, b) => a - b))
  }
})
