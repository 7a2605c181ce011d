import { expect, test } from "bun:test"
import { unexpandedFinding } from "./unexpanded.ts"

const podWith = (args: readonly string[]) =>
  ({ metadata: {}, status: {}, spec: { containers: [{ name: "c", image: "app:1", args }] } }) as unknown as Parameters<
    typeof unexpandedFinding
  >[0]
const others = (count: number) => Array.from({ length: count }, (_, i) => `$OTHER_${i}`).join(" ")

test.each([
  ["alone", "cannot open $FILE", true],
  ["after a few others", `${others(5)} $FILE`, true],
  ["after more others than are looked for", `${others(5000)} $FILE`, false],
])("a variable that stands in the arguments is found in a line %s", (_, line, found) => {
  expect(unexpandedFinding(podWith(["--file=$FILE"]), "c", line)?.cause.code).toBe(
    found ? "variable-not-expanded" : undefined,
  )
})
