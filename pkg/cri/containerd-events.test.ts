/**
 * The ordering of containerd's events against what its CRI says, with stand-ins for both. The real containerd is in
 * components/kubelet/containerd.
 */
import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../clock/virtual.ts"
import { field, message } from "../protobuf/message.ts"
import type { Channel } from "./channel.ts"
import type { ContainerEvent } from "./container-event.ts"
import { containerdEvents, CRI_NAMESPACE } from "./containerd-events.ts"
import type { RuntimeService } from "./service.ts"

const TaskExit = message({ containerId: field(1, "string"), id: field(2, "string") })

/** A connection on which containerd tells that the first process of container `c` has ended, and then stays. */
const connection = {
  async *stream(_rpc: unknown, _request: unknown, { signal }: { signal: AbortSignal }) {
    yield {
      namespace: CRI_NAMESPACE,
      topic: "/tasks/exit",
      event: { typeUrl: "", value: TaskExit.encode({ containerId: "c", id: "c" }) },
    }
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()))
  },
} as unknown as Channel

/** A CRI that reports these states of a container, one for each request; the last one is repeated. */
function criThatSays(...states: readonly (string | undefined)[]): {
  readonly runtime: RuntimeService
  readonly looks: () => number
} {
  let looks = 0
  const containerStatus = async () => {
    const state = states[Math.min(looks++, states.length - 1)]
    return state === undefined ? undefined : { state }
  }
  return {
    runtime: { containerStatus, podSandboxStatus: async () => undefined } as unknown as RuntimeService,
    looks: () => looks,
  }
}

/** Returns the first event within a minute, if there is one. */
async function firstEvent(runtime: RuntimeService): Promise<ContainerEvent | undefined> {
  const clock = new VirtualClock(0)
  const stop = new AbortController()
  const events = containerdEvents(connection, runtime, clock)(stop.signal, () => {})[Symbol.asyncIterator]()
  let told: ContainerEvent | undefined
  void events.next().then(({ value }) => (told = value ?? undefined))
  await clock.advance(60_000)
  stop.abort()
  return told
}

describe("the end of a container", () => {
  test.each<[string, (string | undefined)[], number]>([
    ["at once if the CRI shows it", ["CONTAINER_EXITED"], 1],
    [
      "not while the CRI says that the container runs",
      ["CONTAINER_RUNNING", "CONTAINER_RUNNING", "CONTAINER_EXITED"],
      3,
    ],
    [
      "not while the container's start is in progress, after which the CRI shows it as running again",
      ["CONTAINER_CREATED", "CONTAINER_RUNNING", "CONTAINER_EXITED"],
      3,
    ],
    ["when the CRI does not know the container any more", ["CONTAINER_RUNNING", undefined], 2],
    ["however long the CRI takes", [...Array.from({ length: 30 }, () => "CONTAINER_RUNNING"), "CONTAINER_EXITED"], 31],
  ])("is reported %s", async (_when, states, looks) => {
    // given a CRI that shows the end of a container late, and an event that says it has ended
    const cri = criThatSays(...states)
    // when its events are followed
    const event = await firstEvent(cri.runtime)
    // then the end is told once it shows
    expect(event).toEqual({ type: "Stopped", containerId: "c" })
    expect(cri.looks()).toBe(looks)
  })

  test("is not reported while the CRI does not show it", async () => {
    expect(await firstEvent(criThatSays("CONTAINER_RUNNING").runtime)).toBeUndefined()
  })
})
