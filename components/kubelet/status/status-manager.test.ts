import { describe, expect, test } from "bun:test"
import type { Pod } from "../../../pkg/api/core/v1/pod.ts"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import type { KubeletContext } from "../context.ts"
import { StatusManager, statusPatch } from "./status-manager.ts"

describe("the patch of a pod's status", () => {
  test("is nothing when nothing of the kubelet's changed", () => {
    const status = { phase: "Running" as const, conditions: [{ type: "Ready", status: "True" }] }
    expect(
      statusPatch(
        { ...status, nominatedNodeName: "n", conditions: [...status.conditions, { type: "Gate", status: "False" }] },
        status,
      ),
    ).toBeUndefined()
  })

  test("says only what changed, conditions one by one, and what went away", () => {
    const from = {
      phase: "Pending" as const,
      reason: "Old",
      hostIP: "10.0.0.1",
      conditions: [
        { type: "Ready", status: "False", reason: "ContainersNotReady", message: "m" },
        { type: "Initialized", status: "True" },
      ],
    }
    const to = {
      phase: "Running" as const,
      hostIP: "10.0.0.1",
      podIPs: [{ ip: "10.42.0.2" }],
      conditions: [
        { type: "Ready", status: "True" },
        { type: "Initialized", status: "True" },
      ],
    }
    expect(statusPatch(from, to)).toEqual({
      phase: "Running",
      reason: null,
      podIPs: [{ $patch: "replace" }, { ip: "10.42.0.2" }],
      conditions: [{ type: "Ready", status: "True", reason: null, message: null }],
    })
  })
})

describe("the status of a pod", () => {
  const pod = {
    metadata: { name: "p", namespace: "default", uid: "u", resourceVersion: "1" },
    spec: {},
    status: { phase: "Pending" },
  } as Pod
  const start = (patch: (status: object, written: object[]) => Promise<object>) => {
    const written: object[] = []
    const client = {
      patch: async (_kind: unknown, _ref: unknown, { body: { status } }: { body: { status: object } }) => {
        written.push(status)
        return { ...pod, status: await patch(status, written) }
      },
    }
    const clock = new VirtualClock(0)
    return { written, clock, manager: new StatusManager({ client, clock, log: silent } as unknown as KubeletContext) }
  }

  test("is written once for all that happened in one turn, as it came to be", async () => {
    const { manager, written } = start(async (status) => ({ phase: "Pending", ...status }))
    // when
    manager.set(pod, { ...pod.status, message: "creating" })
    await Promise.resolve()
    manager.set(pod, { ...pod.status, phase: "Running" })
    await manager.written("u")
    // then
    expect(written).toEqual([{ phase: "Running" }])
  })

  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])(
    "is written however close to the end of an earlier write it changes (%d turns after its answer)",
    async (turns) => {
      // given a write that is under way
      const answer = Promise.withResolvers<void>()
      const { manager, written, clock } = start(async (status, { length }) => {
        if (length === 1) await answer.promise
        return { phase: "Pending", ...status }
      })
      manager.set(pod, { ...pod.status, message: "first" })
      await clock.settle()
      // when it is answered, and the status changes a little later
      answer.resolve()
      for (let i = 0; i < turns; i++) await Promise.resolve()
      manager.set(pod, { ...pod.status, message: "second" })
      await manager.written("u")
      // then that is written too
      expect(written).toEqual([{ message: "first" }, { message: "second" }])
    },
  )

  test("that was refused as invalid is not sent again, but a newer one is, also if it came meanwhile", async () => {
    const { manager, written } = start(async (status, { length }) => {
      if (length > 1) return { phase: "Pending", ...status }
      manager.set(pod, { ...pod.status, message: "second" })
      throw new ApiError("Invalid", "no")
    })
    manager.set(pod, { ...pod.status, message: "first" })
    await manager.written("u")
    expect(written).toEqual([{ message: "first" }, { message: "second" }])
  })
})
