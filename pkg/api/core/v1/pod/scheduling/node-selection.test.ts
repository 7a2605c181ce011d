import { expect, test } from "bun:test"
import type { Node } from "../../node/node.ts"
import { matchesTerm } from "./node-selection.ts"

test.each([
  { operator: "Gt", label: "9007199254740993", value: "9007199254740992", matches: true },
  { operator: "Lt", label: "9007199254740993", value: "9007199254740992", matches: false },
  { operator: "Lt", label: "-3", value: "+2", matches: true },
  { operator: "Gt", label: "3", value: "3", matches: false },
  { operator: "Lt", label: "3", value: "9".repeat(20), matches: false },
  { operator: "Gt", label: "many", value: "1", matches: false },
  { operator: "Gt", label: undefined, value: "1", matches: false },
] as const)("a label $label is $operator $value: $matches", ({ operator, label, value, matches }) => {
  const node = { metadata: { name: "one", labels: label === undefined ? {} : { size: label } } } as unknown as Node
  expect(matchesTerm({ matchExpressions: [{ key: "size", operator, values: [value] }] }, node)).toBe(matches)
})
