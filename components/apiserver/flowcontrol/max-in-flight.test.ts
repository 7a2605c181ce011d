import { expect, test } from "bun:test"
import { Value } from "../../../pkg/metrics/registry.ts"
import { MaxInFlight } from "./max-in-flight.ts"

test("requests beyond the limit are told to come back, reads and writes apart, administrators never", () => {
  // given room for one write and two reads
  const flow = new MaxInFlight({ reads: 2, writes: 1, readsGauge: new Value(), writesGauge: new Value() })
  const user = { name: "jane", groups: [] }
  const refusal = (verb: string) => {
    try {
      flow.enter(user, verb)
      return undefined
    } catch (err) {
      return err
    }
  }

  // when a write is under way
  const slot = flow.enter(user, "create")

  // then the next is refused until it has ended
  expect(refusal("update")).toMatchObject({ code: 429, reason: "TooManyRequests", details: { retryAfterSeconds: 1 } })
  expect(refusal("get")).toBeUndefined()
  expect(refusal("list")).toBeUndefined()
  expect(refusal("get")).toMatchObject({ code: 429 })
  flow.enter({ name: "admin", groups: ["system:masters"] }, "delete")
  flow.leave(slot)
  flow.leave(slot)
  expect(refusal("create")).toBeUndefined()
})
