import { expect, test } from "bun:test"
import { deal, hashOfFlow } from "./shuffle-sharding.ts"

test("the hash of a flow is the start of a SHA-256 sum, so that a flow has the same queues as upstream", () => {
  expect(hashOfFlow("global-default", "jane")).toBe(0x5eae0f0b2aa99b18n)
  expect(hashOfFlow("global-defaultj", "ane")).not.toBe(hashOfFlow("global-default", "jane"))
})

test("every hand of queues is dealt equally often", () => {
  // given the twelve hashes after which hands of two out of four queues repeat
  const hands = Array.from({ length: 12 }, (_, hash) => deal(BigInt(hash), 4, 2).join(" "))
  // then each ordered pair comes once
  expect(new Set(hands).size).toBe(12)
  expect(hands.every((hand) => new Set(hand.split(" ")).size === 2)).toBe(true)
})

test.each([
  { queues: 128, handSize: 6 },
  { queues: 64, handSize: 6 },
  { queues: 16, handSize: 4 },
  { queues: 8, handSize: 8 },
])("a hand of $handSize out of $queues queues holds different queues that exist", ({ queues, handSize }) => {
  for (let i = 0; i < 200; i++) {
    const hand = deal(hashOfFlow("schema", `flow-${i}`), queues, handSize)
    expect(new Set(hand).size).toBe(handSize)
    expect(hand.every((queue) => queue >= 0 && queue < queues)).toBe(true)
  }
})
