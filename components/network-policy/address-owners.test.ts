import { expect, test } from "bun:test"
import { AddressOwners } from "./address-owners.ts"

const ADDRESS = "10.42.0.5"

test("what the kubelet says of a sandbox holds against any status", () => {
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

test("of two statuses the younger pod's holds", () => {
  for (const order of [["old", "young"] as const, ["young", "old"] as const]) {
    const owners = new AddressOwners()
    for (const pod of order) owners.report(pod, [ADDRESS], pod === "old" ? 1 : 2)
    expect([owners.of("old"), owners.of("young")]).toEqual([[], [ADDRESS]])
  }
})

test("a pod that is released keeps nothing, and takes nothing from who has its address since", () => {
  const owners = new AddressOwners()
  owners.claim("old", [ADDRESS])
  owners.claim("new", [ADDRESS])
  owners.release("old")
  expect([owners.of("old"), owners.of("new")]).toEqual([[], [ADDRESS]])
  owners.release("new")
  expect(owners.report("third", [ADDRESS], 0)).toEqual([])
  expect(owners.of("third")).toEqual([ADDRESS])
})
