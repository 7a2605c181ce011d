import { expect, test } from "bun:test"
import { RulesByKind } from "./rules-by-kind.ts"

const EVERYTHING = { rule: { verbs: ["*"], apiGroups: ["*"], resources: ["*"] } }
const ask = (resource: string) => ({ verb: "get", group: "", version: "v1", resource, subresource: undefined })

test("the rules for thousands of kinds that somebody asks about take no more than their bound", () => {
  // given somebody with every right, who asks about kinds with long names
  let grown = 0
  const rules = new RulesByKind([EVERYTHING], (characters) => (grown += characters))
  const before = rules.weight
  let most = 0
  for (let i = 0; i < 5000; i++) {
    expect(rules.for(ask(`${i}${"k".repeat(240)}`))).toEqual([EVERYTHING])
    most = Math.max(most, rules.weight)
  }
  // then the names count too
  expect(most).toBeGreaterThan(100_000)
  expect(most).toBeLessThan(151_000)
  expect(grown).toBeGreaterThan(5000 * 240)
  expect(before).toBeLessThan(100)
})

test("thousands of rules for each of many kinds take no more than their bound", () => {
  const rules = new RulesByKind(Array.from({ length: 5000 }, () => EVERYTHING))
  for (let i = 0; i < 100; i++) rules.for(ask(`k${i}`))
  expect(rules.weight).toBeLessThan(4 * 5000 + 151_000)
})

test("a kind that was asked about is known, and is told as growth once", () => {
  const grown: number[] = []
  const rules = new RulesByKind([EVERYTHING], (characters) => grown.push(characters))
  expect(rules.for(ask("pods"))).toBe(rules.for(ask("pods")))
  expect(grown).toHaveLength(1)
})
