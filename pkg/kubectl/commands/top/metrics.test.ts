import { expect, test } from "bun:test"
import { compareUsage, sumOf, usageOf, usageText } from "./metrics.ts"

// Source of the expectations: upstream's kubectl 1.36 with these metrics.
test.each([
  { resource: "cpu", usage: "1234567890n", wants: "1235m" },
  { resource: "cpu", usage: "1500u", wants: "2m" },
  { resource: "cpu", usage: "3", wants: "3000m" },
  { resource: "memory", usage: "1.5Gi", wants: "1536Mi" },
  { resource: "memory", usage: "100000000", wants: "95Mi" },
  { resource: "memory", usage: undefined, wants: "0Mi" },
])("$usage of $resource is shown as $wants", ({ resource, usage, wants }) => {
  // given a usage, when it is shown, then in the unit of its resource
  expect(usageText(resource, usageOf(usage === undefined ? {} : { [resource]: usage }, resource))).toBe(wants)
})

test("pods are compared by what their containers use together", () => {
  // given a pod of two containers, and one of a container that uses more than each
  const two = [
    { name: "a", usage: { cpu: "10m", memory: "20Mi" } },
    { name: "b", usage: { cpu: "1500u", memory: "3Mi" } },
  ]
  const one = [{ name: "c", usage: { cpu: "11m", memory: "30Mi" } }]

  // when they are sorted, then the one that uses more comes first
  expect(compareUsage("cpu", sumOf(two, "cpu"), sumOf(one, "cpu"))).toBe(-1)
  expect(compareUsage("memory", sumOf(two, "memory"), sumOf(one, "memory"))).toBe(1)
})
