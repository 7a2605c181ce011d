import { expect, test } from "bun:test"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import type { KubeletContext } from "../context.ts"
import { CONTAINER_NAME, POD_UID } from "../model/labels.ts"
import { RuntimeCache } from "./runtime-cache.ts"
import type { RuntimeContainer } from "../model/runtime-pod.ts"

test("a container that is created during a list of the runtime stays known; one that is removed does not", async () => {
  // given a runtime with one container, whose state takes a while to be told
  const labels = { [POD_UID]: "pod", [CONTAINER_NAME]: "old" }
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  let listed = [{ id: "old", state: "CONTAINER_CREATED", labels, podSandboxId: "s" }]
  const containers = {
    listPodSandboxes: async () => [],
    listContainers: async () => listed,
    containerStatus: async (id: string) => {
      asked.resolve()
      await answer.promise
      return {
        id,
        labels,
        annotations: {},
        state: "CONTAINER_RUNNING",
        createdAt: 1,
        startedAt: 1,
        finishedAt: 0,
        exitCode: 0,
        reason: "",
        message: "",
        logPath: "",
      }
    },
  }
  const cache = new RuntimeCache({
    runtime: { containers },
    clock: new VirtualClock(0),
    log: silent,
  } as unknown as KubeletContext)
  // when another one is made meanwhile
  const listing = cache.relist()
  await asked.promise
  cache.created({
    id: "new",
    pod: { uid: "pod", namespace: "", name: "" },
    name: "new",
    sandboxId: "s",
    state: "created",
    createdAt: 2,
    notes: { restartCount: 0 },
  } as RuntimeContainer)
  answer.resolve()
  await listing
  // then both are known
  expect(cache.get("pod")?.containers.map(({ id }) => id)).toEqual(["new", "old"])
  // and when the runtime has neither any more, none is
  listed = []
  await cache.relist()
  expect(cache.get("pod")).toBeUndefined()
})
