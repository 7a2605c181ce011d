import { expect, test } from "bun:test"
import { Value } from "../../../pkg/metrics/registry.ts"
import { MaxInFlight } from "./max-in-flight.ts"

const gauges = () => ({ reads: new Value(), writes: new Value() })
const jane = { name: "jane", groups: [] }

test("requests beyond the limit are turned away, reads and writes apart, administrators never", () => {
  // given room for one write and two reads
  const flow = new MaxInFlight({ reads: 2, writes: 1 }, gauges())
  const isLetIn = (verb: string) => flow.enter(jane, verb) !== undefined

  // when a write is under way
  const slot = flow.enter(jane, "create")!

  // then the next is turned away until it has ended
  expect(isLetIn("update")).toBe(false)
  expect([isLetIn("get"), isLetIn("list"), isLetIn("get")]).toEqual([true, true, false])
  const administrators = flow.enter({ name: "admin", groups: ["system:masters"] }, "delete")!
  flow.leave(administrators)
  flow.leave(slot)
  expect(isLetIn("create")).toBe(true)
})

test("a limit of 0 is none", () => {
  const flow = new MaxInFlight({ reads: 0, writes: 1 }, gauges())
  expect([1, 2, 3].map(() => flow.enter(jane, "get") !== undefined)).toEqual([true, true, true])
})
