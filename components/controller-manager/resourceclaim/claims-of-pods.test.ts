import { expect, test } from "bun:test"
import { baseName } from "./claims-of-pods.ts"

const rows = [
  { title: "the names of the pod and of its claim", given: ["pod", "claim"], wants: "pod-claim-" },
  {
    title: "the starts of both names if they are too long",
    given: ["p".repeat(60), "c".repeat(30)],
    wants: `${"p".repeat(37)}-${"c".repeat(18)}`,
  },
] as const
test.each(rows)("the name of a ResourceClaim begins with $title", ({ given: [pod, claim], wants }) => {
  expect(baseName(pod, claim)).toBe(wants)
})
