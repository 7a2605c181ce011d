import { expect, test } from "bun:test"
import { AddressOwners } from "./address-owners.ts"

const ADDRESS = "10.42.0.5"

test("the pod for which the kubelet made a sandbox with an address owns the address, whatever statuses say", () => {
  const owners = new AddressOwners()
  owners.report("old", [ADDRESS], 1)
  expect(owners.claim("new", [ADDRESS])).toEqual(["old"])
  expect([owners.of("old"), owners.of("new")]).toEqual([[], [ADDRESS]])
  expect(owners.report("old", [ADDRESS], 99)).toEqual([])
  expect([owners.of("old"), owners.of("new")]).toEqual([[], [ADDRESS]])
  // a status of its own that is older than the sandbox takes nothing away
  owners.report("new", ["10.42.0.4"], 2)
  expect(owners.of("new")).toEqual([ADDRESS])
})

test("of two pods with one address in their status, the younger one owns it", () => {
  for (const order of [["old", "young"] as const, ["young", "old"] as const]) {
    const owners = new AddressOwners()
    for (const pod of order) owners.report(pod, [ADDRESS], pod === "old" ? 1 : 2)
    expect([owners.of("old"), owners.of("young")]).toEqual([[], [ADDRESS]])
  }
})

test("a pod that is released owns no address, and does not take an address from its new owner", () => {
  const owners = new AddressOwners()
  owners.claim("old", [ADDRESS])
  owners.claim("new", [ADDRESS])
  owners.release("old")
  expect([owners.of("old"), owners.of("new")]).toEqual([[], [ADDRESS]])
  owners.release("new")
  expect(owners.report("third", [ADDRESS], 0)).toEqual([])
  expect(owners.of("third")).toEqual([ADDRESS])
})
