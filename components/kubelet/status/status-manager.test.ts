import { describe, expect, test } from "bun:test"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import type { KubeletContext } from "../context.ts"
import { ContainerMetrics } from "../metrics/container-metrics.ts"
import { StatusManager } from "./status-manager.ts"
import { statusPatch } from "./status-patch.ts"

describe("the patch of a pod's status", () => {
  test("is undefined when none of the kubelet's fields changed", () => {
    const status = { phase: "Running" as const, conditions: [{ type: "Ready", status: "True" }] }
    expect(
      statusPatch(
        { ...status, nominatedNodeName: "n", conditions: [...status.conditions, { type: "Gate", status: "False" }] },
        status,
      ),
    ).toBeUndefined()
  })

  test("has only changed fields, single conditions, and removed fields", () => {
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
        const answer = await patch(status, written)
        return { ...pod, metadata: { ...pod.metadata, resourceVersion: String(written.length + 10) }, status: answer }
      },
    }
    const clock = new VirtualClock(0)
    // The pod as the informer has it.
    const informer: { pod: Pod | undefined } = { pod: pod as Pod | undefined }
    const informers = { of: () => ({ get: () => informer.pod }) }
    const metrics = { containers: new ContainerMetrics([]) }
    const manager = new StatusManager({ client, clock, informers, metrics, log: silent } as unknown as KubeletContext)
    return { written, clock, informer, manager }
  }

  test("is written once for all changes in one turn, with the last state", async () => {
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

  test.each(["Conflict", "NotFound", "Forbidden", "Invalid", "InternalError", "ServiceUnavailable"] as const)(
    "is written again after an answer of %s, after 1, 2, 4, 8 and then every 10 seconds",
    async (reason) => {
      // given an API that refuses six times
      const tries: number[] = []
      const { manager, clock } = start(async (status) => {
        tries.push(clock.now() / 1000)
        if (tries.length <= 6) throw new ApiError(reason, "no")
        return { phase: "Pending", ...status }
      })
      // when a status is set
      manager.set(pod, { ...pod.status, phase: "Running" })
      await clock.advance(60_000)
      // then it arrives in the end
      await manager.written("u")
      expect(tries).toEqual([0, 1, 3, 7, 15, 25, 35])
    },
  )

  test("that is refused is replaced by a newer one", async () => {
    // given an API that never takes the first
    const { manager, written, clock } = start(async (status) => {
      if ("message" in status && status.message === "first") throw new ApiError("Invalid", "no")
      return { phase: "Pending", ...status }
    })
    manager.set(pod, { ...pod.status, message: "first" })
    await clock.advance(5000)
    // when there is another
    manager.set(pod, { ...pod.status, message: "second" })
    await clock.advance(10_000)
    await manager.written("u")
    // then that one is written
    expect(written.at(-1)).toEqual({ message: "second" })
  })

  const ends: readonly {
    readonly title: string
    happen(parts: { readonly manager: StatusManager; readonly informer: { pod: Pod | undefined } }): void
  }[] = [
    { title: "is forgotten", happen: ({ manager }) => manager.forget("u") },
    {
      title: "is gone from the informer",
      happen: ({ informer }) => {
        informer.pod = undefined
      },
    },
    {
      title: "has been replaced by another of the same name",
      happen: ({ informer }) => {
        informer.pod = { ...pod, metadata: { ...pod.metadata, uid: "other" } }
      },
    },
  ]
  test.each(ends)("is not written any more when the pod $title", async ({ happen }) => {
    // given a write that fails
    const { manager, informer, written, clock } = start(() => Promise.reject(new ApiError("NotFound", "no")))
    manager.set(pod, { ...pod.status, phase: "Running" })
    await clock.settle()
    // when
    happen({ manager, informer })
    await clock.advance(60_000)
    // then there is no other try, and nobody waits for one
    await manager.written("u")
    expect(written).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })

  test("is merged with what another client wrote while it could not be written", async () => {
    // given a write that fails
    let refuse = true
    const { manager, informer, written, clock } = start(async (status) => {
      if (refuse) throw new ApiError("Conflict", "no")
      return { phase: "Running", ...status }
    })
    manager.set(pod, { ...pod.status, phase: "Running", message: "ours" })
    await clock.settle()
    // when another writes one half of it
    informer.pod = { ...pod, metadata: { ...pod.metadata, resourceVersion: "2" }, status: { phase: "Running" } }
    refuse = false
    await clock.advance(1000)
    await manager.written("u")
    // then the other half is left
    expect(written.at(-1)).toEqual({ message: "ours" })
  })
})
