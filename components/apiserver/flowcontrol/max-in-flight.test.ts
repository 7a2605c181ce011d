import { expect, test } from "bun:test"
import { Value } from "../../../pkg/metrics/registry.ts"
import { MaxInFlight } from "./max-in-flight.ts"

const gauges = () => ({ reads: new Value(), writes: new Value() })
const jane = { name: "jane", groups: [] }

test("requests beyond the limit are rejected, separately for reads and writes, and never those of system:masters", () => {
  // given room for one write and two reads
  const flow = new MaxInFlight({ reads: 2, writes: 1 }, gauges())
  const isLetIn = (verb: string) => flow.enter(jane, verb) !== undefined

  // when a write is under way
  const slot = flow.enter(jane, "create")!

  // then the next is turned away until it has ended
  expect(isLetIn("update")).toBe(false)
  expect([isLetIn("get"), isLetIn("list"), isLetIn("get")]).toEqual([true, true, false])
  const admin = { name: "admin", groups: ["system:masters"] }
  flow.leave(flow.enter(admin, "delete")!, admin)
  flow.leave(slot, jane)
  expect(isLetIn("create")).toBe(true)
})

test("a limit of 0 means no limit", () => {
  const flow = new MaxInFlight({ reads: 0, writes: 1 }, gauges())
  expect([1, 2, 3].map(() => flow.enter(jane, "get") !== undefined)).toEqual([true, true, true])
})

test("one user never gets all places, and requests of administrators take no places from other users", () => {
  // given a user who asks for as many as it can get, and as many requests of an administrator
  const { reads, writes } = gauges()
  const flow = new MaxInFlight({ reads: 0, writes: 8 }, { reads, writes })
  const admin = { name: "admin", groups: ["system:masters"] }
  for (let i = 0; i < 8; i++) flow.enter(admin, "create")
  const letIn = Array.from({ length: 8 }, () => flow.enter(jane, "create")).filter((slot) => slot !== undefined)

  // then another gets in still
  expect(letIn).toHaveLength(6)
  expect(flow.enter({ name: "joe", groups: [] }, "create")).toBeDefined()
  expect(writes.value).toBe(15)
})
