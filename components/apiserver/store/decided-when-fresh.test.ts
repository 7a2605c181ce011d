import { expect, test } from "bun:test"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { decidedWhenFresh } from "./decided-when-fresh.ts"

const REFUSED = new ApiError("Forbidden", "no RoleBinding")

test.each([
  { title: "an allowed request does not wait", allowedFrom: 0, shared: true, lost: false, wants: "next, 0 rounds" },
  {
    title: "a change through another server allows the request",
    allowedFrom: 1,
    shared: true,
    lost: false,
    wants: "next, 1 rounds",
  },
  {
    title: "no change allows the request",
    allowedFrom: 9,
    shared: true,
    lost: false,
    wants: "no RoleBinding, 1 rounds",
  },
  { title: "the store cannot be reached", allowedFrom: 1, shared: true, lost: true, wants: "no RoleBinding, 0 rounds" },
  {
    title: "no other server shares the store",
    allowedFrom: 1,
    shared: false,
    lost: false,
    wants: "no RoleBinding, 0 rounds",
  },
])(
  "a request is authorized again after the cache has caught up with the store: $title",
  async ({ allowedFrom, shared, lost, wants }) => {
    let rounds = 0
    const freshen = async () => {
      if (lost) throw new Error("no majority")
      rounds++
    }
    const decide = () => {
      if (rounds < allowedFrom) throw REFUSED
      return "next"
    }
    let outcome = ""
    const next = (decision: string) => void (outcome = decision)
    try {
      await decidedWhenFresh(shared ? freshen : undefined, decide, next)
    } catch (err) {
      outcome = (err as Error).message
    }
    expect(`${outcome}, ${rounds} rounds`).toBe(wants)
  },
)
