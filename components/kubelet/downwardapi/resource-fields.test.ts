import { expect, test } from "bun:test"
import { nodeAmounts } from "./resource-fields.ts"

test("the limits of a container without any are the Node's allocatable resources, not the machine's capacity", async () => {
  const machine = { cpus: 4, memoryBytes: 8 * 2 ** 30, hugepages: {}, space: async () => ({ capacityBytes: 100 }) }
  const given = { runtime: { machine }, config: { root: "/", maxPods: 110 } } as unknown as Parameters<
    typeof nodeAmounts
  >[0]
  expect(await nodeAmounts(given)).toMatchObject({ cpu: "4", memory: "8092Mi", "ephemeral-storage": "95" })
})
