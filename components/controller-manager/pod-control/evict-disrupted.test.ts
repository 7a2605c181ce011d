import { expect, test } from "bun:test"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { evictDisrupted } from "./evict-disrupted.ts"

const SINCE = "2026-01-01T00:00:10Z"
const cached = { metadata: { namespace: "default", name: "one", uid: "1" }, spec: {}, status: {} } as unknown as Pod
const disrupted = {
  ...cached,
  status: { conditions: [{ type: "DisruptionTarget", status: "True", lastTransitionTime: SINCE }] },
}

/** A client that finds `stored`, and keeps what it is asked for. */
function stage(stored: object) {
  const asked: unknown[] = []
  const client = {
    get: () => Promise.resolve(stored),
    patch: (_kind: unknown, _at: unknown, { body }: { readonly body: unknown }) => Promise.resolve(asked.push(body)),
    delete: () => Promise.resolve(asked.push("delete")),
  }
  const clock = new VirtualClock(Date.parse("2026-01-01T00:00:40Z"))
  return { asked, context: { client, clock } as unknown as Pick<ReconcileContext, "client" | "clock"> }
}
const WHY = { reason: "DeletionByTaintManager", message: "a taint" }

test("a pod that its kubelet disrupts already keeps the time since when", async () => {
  // given a cached pod, of which the kubelet has written a condition meanwhile
  const { asked, context } = stage(disrupted)

  // when it is evicted, then the condition says another reason, and the same time
  await evictDisrupted(cached, WHY, context)
  expect(asked).toMatchObject([{ status: { conditions: [{ ...WHY, lastTransitionTime: SINCE }] } }, "delete"])
})

test("a pod of the same name that came later is kept", async () => {
  const { asked, context } = stage({ ...cached, metadata: { ...cached.metadata, uid: "2" } })
  await evictDisrupted(cached, WHY, context)
  expect(asked).toEqual([])
})
