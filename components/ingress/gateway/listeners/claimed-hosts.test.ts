import { expect, test } from "bun:test"
import { ClaimedHosts } from "./claimed-hosts.ts"

test.each([
  { claimed: "a.example", given: "a.example", wants: "first" },
  { claimed: "a.example", given: "*.example", wants: "first" },
  { claimed: "a.example", given: "", wants: "first" },
  { claimed: "a.example", given: "b.example", wants: undefined },
  { claimed: "a.example", given: "*.a.example", wants: undefined },
  { claimed: "*.example", given: "a.b.example", wants: "first" },
  { claimed: "*.example", given: "*.b.example", wants: "first" },
  { claimed: "*.b.example", given: "*.example", wants: "first" },
  { claimed: "*.example", given: "example", wants: undefined },
  { claimed: "*.b.example", given: "*.c.example", wants: undefined },
  { claimed: "", given: "a.example", wants: "first" },
  { claimed: "", given: "", wants: "first" },
])("'$given' has a host in common with '$claimed': $wants", ({ claimed, given, wants }) => {
  const hosts = new ClaimedHosts()
  hosts.claim(claimed, "first")
  hosts.claim(claimed, "second")
  expect(hosts.holderOf(given)).toBe(wants)
})
