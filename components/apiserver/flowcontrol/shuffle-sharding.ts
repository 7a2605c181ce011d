import { createHash } from "node:crypto"

/**
 * Deals each flow a hand of queues, so that one that fills its queues leaves others nearly always one of theirs.
 * Sources: apiserver pkg/util/shufflesharding, hashFlowID in pkg/util/flowcontrol/apf_controller.go.
 */

/** Names a flow by a number: requests of one schema that its distinguisher does not tell apart have the same. */
export function hashOfFlow(schema: string, distinguisher: string): bigint {
  return createHash("sha256").update(`${schema}\0${distinguisher}`).digest().readBigUInt64LE(0)
}

/** Returns `handSize` different numbers below `deckSize`, which only depend on the hash. */
export function deal(hash: bigint, deckSize: number, handSize: number): readonly number[] {
  const remainders: number[] = []
  let rest = hash
  for (let i = 0; i < handSize; i++) {
    const cards = BigInt(deckSize - i)
    remainders.push(Number(rest % cards))
    rest /= cards
  }
  // A remainder counts only the cards that are left; going back over those dealt before makes it the number of a card.
  return remainders.map((remainder, i) => {
    let card = remainder
    for (let j = i - 1; j >= 0; j--) if (card >= remainders[j]!) card++
    return card
  })
}
