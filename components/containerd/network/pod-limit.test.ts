import { expect, test } from "bun:test"
import { podLimitProblem } from "./pod-limit.ts"

test.each([
  { maxPods: 253, ranges: ["10.42.0.0/24", "fd42::/64"], wants: undefined },
  {
    maxPods: 254,
    ranges: ["10.42.0.0/24", "fd42::/64"],
    wants:
      "the range 10.42.0.0/24 has 253 addresses for pods; give --kubelet-arg max-pods=253, or a new cluster larger ranges by --node-cidr-mask-size-ipv4",
  },
  {
    maxPods: 110,
    ranges: ["fd42::/122"],
    wants:
      "the range fd42::/122 has 62 addresses for pods; give --kubelet-arg max-pods=62, or a new cluster larger ranges by --node-cidr-mask-size-ipv6",
  },
  { maxPods: 1023, ranges: ["10.42.0.0/20"], wants: undefined },
  { maxPods: 1024, ranges: ["10.42.0.0/20"], wants: "a bridge has 1023 ports; give --kubelet-arg max-pods=1023" },
])("a node of $maxPods pods with the ranges $ranges is accepted or refused", ({ maxPods, ranges, wants }) => {
  expect(podLimitProblem(maxPods, ranges)).toBe(wants)
})
