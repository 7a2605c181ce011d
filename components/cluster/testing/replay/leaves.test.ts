import { expect, test } from "bun:test"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { leavesOf } from "./leaves.ts"

const node = (spec: object): KubeObject =>
  ({ apiVersion: "v1", kind: "Node", metadata: { name: "a" }, spec: { unschedulable: true, ...spec } }) as KubeObject

test("the range of addresses of a node is no difference: most networks of other clusters give none", () => {
  const same = (text: string) => text
  const given = leavesOf(node({ podCIDR: "10.42.0.0/24", podCIDRs: ["10.42.0.0/24"] }), same)
  expect(given).toEqual(leavesOf(node({}), same))
  expect([...given.keys()]).toContain("spec.unschedulable")
})
