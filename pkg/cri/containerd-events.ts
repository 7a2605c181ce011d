import { sleep, type Clock } from "../clock/clock.ts"
import { field, message, repeated } from "../protobuf/message.ts"
import type { Channel } from "./channel.ts"
import { service } from "../grpc/rpc.ts"
import type { ContainerEvent, EventSource } from "./container-event.ts"
import { Mailbox } from "./mailbox.ts"
import type { RuntimeService } from "./service.ts"

/** The namespace in which containerd keeps everything made through the CRI. Source: containerd pkg/cri/constants. */
export const CRI_NAMESPACE = "k8s.io"

const Timestamp = message({ seconds: field(1, "int64"), nanos: field(2, "int32") })

/** Source: containerd api/services/events/v1/events.proto. */
const Subscribe = service("containerd.services.events.v1.Events")(
  "Subscribe",
  message({ filters: repeated(1, "string") }),
  message({
    timestamp: field(1, Timestamp),
    namespace: field(2, "string"),
    topic: field(3, "string"),
    event: field(4, message({ typeUrl: field(1, "string"), value: field(2, "bytes") })),
  }),
)

/**
 * The topics that are subscribed to, with their event. All these events have the container's id as field 1. Source:
 * containerd api/events/task.proto, container.proto.
 */
const TOPICS = {
  "/tasks/start": "Started",
  "/tasks/exit": "Stopped",
  "/tasks/oom": "OutOfMemory",
  "/containers/delete": "Deleted",
} as const

const FILTERS = Object.keys(TOPICS).map((topic) => `namespace==${CRI_NAMESPACE},topic=="${topic}"`)

/** `id` differs from `containerId` when the process that exited was started by exec. */
const TaskExit = message({ containerId: field(1, "string"), id: field(2, "string") })
const AnyTask = message({ containerId: field(1, "string") })

/**
 * The events of containerd's own event service, on the same socket as its CRI.
 *
 * The CRI plugin listens to the same events and changes its status a little after: it deletes the task first. So a
 * `Stopped` is held back until the status shows it, mostly some 10 ms. Otherwise its receiver would read that the
 * container still runs.
 */
export const containerdEvents = (channel: Channel, runtime: RuntimeService, clock: Clock): EventSource =>
  async function* (signal, onSent) {
    const events = new Mailbox<ContainerEvent>()
    const settle = async (containerId: string) => {
      await stopIsVisible(containerId, runtime, clock, signal)
      events.push({ type: "Stopped", containerId })
    }
    const pump = async () => {
      for await (const { topic, event } of channel.stream(Subscribe, { filters: FILTERS }, { signal, onSent })) {
        const type = TOPICS[topic as keyof typeof TOPICS]
        if (type === undefined || event === undefined) continue
        if (type === "Stopped") {
          const { containerId, id } = TaskExit.decode(event.value)
          // A failure means that the connection is gone. The stream ends too, and the next `Relist` covers what was
          // missed.
          if (id === containerId) settle(containerId).catch((err: unknown) => events.fail(err))
        } else events.push({ type, containerId: AnyTask.decode(event.value).containerId })
      }
    }
    pump().then(
      () => events.end(),
      (err: unknown) => events.fail(err),
    )
    yield* events
  }

/** The longest pause between two checks of a container whose end the CRI does not show yet, in milliseconds. */
const LONGEST_PAUSE_MS = 1000

/**
 * Resolves when the CRI shows that the container or sandbox has ended, or does not know it any more. Before that the
 * CRI may say "running" or, for a process that ended during its StartContainer, "created". There is no second event, so
 * this never gives up.
 */
async function stopIsVisible(id: string, runtime: RuntimeService, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let delay = 4; ; delay = Math.min(delay * 2, LONGEST_PAUSE_MS)) {
    await sleep(clock, delay, signal)
    if (await hasEnded(id, runtime, signal)) return
  }
}

async function hasEnded(id: string, runtime: RuntimeService, signal: AbortSignal): Promise<boolean> {
  const container = await runtime.containerStatus(id, { signal })
  if (container !== undefined) return container.state !== "CONTAINER_RUNNING" && container.state !== "CONTAINER_CREATED"
  return (await runtime.podSandboxStatus(id, { signal }))?.state !== "SANDBOX_READY"
}
