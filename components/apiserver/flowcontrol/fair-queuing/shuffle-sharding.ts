import { hash } from "node:crypto"

/**
 * Assigns each flow a small set of queues (a hand), so that a flow which fills its own queues nearly always leaves
 * every other flow a queue that is not full. Sources: apiserver pkg/util/shufflesharding, hashFlowID in
 * pkg/util/flowcontrol/apf_controller.go.
 */

/** Returns a number for a flow: the same for requests of one FlowSchema with the same value of its distinguisher. */
export function hashOfFlow(schema: string, distinguisher: string): bigint {
  return hash("sha256", `${schema}\0${distinguisher}`, "buffer").readBigUInt64LE(0)
}

/** Returns `handSize` different numbers below `deckSize`, which depend on the hash alone. */
export function deal(hash: bigint, deckSize: number, handSize: number): readonly number[] {
  const remainders: number[] = []
  let rest = hash
  for (let i = 0; i < handSize; i++) {
    const cards = BigInt(deckSize - i)
    remainders.push(Number(rest % cards))
    rest /= cards
  }
  // A remainder is an index among the cards that are left. Counting the cards dealt before it gives the index in the
  // deck.
  return remainders.map((remainder, i) => {
    let card = remainder
    for (let j = i - 1; j >= 0; j--) if (card >= remainders[j]!) card++
    return card
  })
}
