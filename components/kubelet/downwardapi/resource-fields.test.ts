import { expect, test } from "bun:test"
import { nodeAmounts } from "./resource-fields.ts"

test("a container without limits may use what the Node tells as allocatable, less than the machine has", async () => {
  const machine = { cpus: 4, memoryBytes: 8 * 2 ** 30, hugepages: {}, space: async () => ({ capacityBytes: 100 }) }
  const given = { runtime: { machine }, config: { root: "/", maxPods: 110 } } as unknown as Parameters<
    typeof nodeAmounts
  >[0]
  expect(await nodeAmounts(given)).toMatchObject({ cpu: "4", memory: "8092Mi", "ephemeral-storage": "95" })
})
