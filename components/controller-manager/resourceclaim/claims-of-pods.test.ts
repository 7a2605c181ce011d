import { expect, test } from "bun:test"
import { baseName } from "./claims-of-pods.ts"

const rows = [
  { title: "both names", given: ["pod", "claim"], wants: "pod-claim-" },
  {
    title: "parts of both where they are too long",
    given: ["p".repeat(60), "c".repeat(30)],
    wants: `${"p".repeat(37)}-${"c".repeat(18)}`,
  },
] as const
test.each(rows)("the name of a claim begins with $title", ({ given: [pod, claim], wants }) => {
  expect(baseName(pod, claim)).toBe(wants)
})
