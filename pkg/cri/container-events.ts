import { sleep, type Clock } from "../clock/clock.ts"
import { enumeration, field, message, repeated } from "../protobuf/message.ts"
import type { Channel } from "./channel.ts"
import { Empty, service } from "../grpc/rpc.ts"
import { ContainerStatus } from "./container.ts"
import { containerdEvents } from "./containerd-events.ts"
import type { GrpcCode } from "../grpc/codes.ts"
import { CriError, isCriError } from "./errors.ts"
import { Mailbox } from "./mailbox.ts"
import { PodSandboxStatus } from "./sandbox.ts"
import type { RuntimeService } from "./service.ts"
import type { ContainerEvent, EventSource } from "./container-event.ts"

const GetContainerEvents = service("runtime.v1.RuntimeService")(
  "GetContainerEvents",
  Empty,
  message({
    containerId: field(1, "string"),
    containerEventType: field(
      2,
      enumeration({
        CONTAINER_CREATED_EVENT: 0,
        CONTAINER_STARTED_EVENT: 1,
        CONTAINER_STOPPED_EVENT: 2,
        CONTAINER_DELETED_EVENT: 3,
      }),
    ),
    createdAt: field(3, "int64"),
    podSandboxStatus: field(4, PodSandboxStatus),
    containersStatuses: repeated(5, ContainerStatus),
  }),
)

const EVENT_TYPES = {
  CONTAINER_CREATED_EVENT: "Created",
  CONTAINER_STARTED_EVENT: "Started",
  CONTAINER_STOPPED_EVENT: "Stopped",
  CONTAINER_DELETED_EVENT: "Deleted",
} as const

/** Events of the CRI's own stream, which containerd 1.6 does not have. */
const criEvents = (channel: Channel): EventSource =>
  async function* (signal, onSent) {
    for await (const event of channel.stream(GetContainerEvents, {}, { signal, onSent })) {
      const podSandboxId = event.podSandboxStatus?.id
      yield {
        type: EVENT_TYPES[event.containerEventType],
        containerId: event.containerId,
        ...(podSandboxId === undefined ? {} : { podSandboxId }),
      }
    }
  }

/**
 * RuntimeService.subscribeContainerEvents for a runtime behind gRPC.
 *
 * containerd's own event service is used, because every version has it. Its CRI stream came with 1.7, where all
 * subscribers share one channel, so that the abandoned stream of a killed kubelet receives an event instead of the
 * living one (pkg/cri/sbserver/container_events.go there). With other runtimes the CRI's stream is used.
 */
export async function* subscribeContainerEvents(
  channel: Channel,
  runtime: RuntimeService,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<ContainerEvent, void> {
  let sources: EventSource[] | undefined
  let delay = FIRST_DELAY_MS
  while (!signal.aborted) {
    try {
      sources ??= await sourcesOf(channel, runtime, clock)
      for await (const event of oneConnection(sources[0]!, runtime, signal)) {
        delay = FIRST_DELAY_MS
        yield event
      }
    } catch (err) {
      if (signal.aborted) return
      if (isCriError(err, "Unimplemented")) {
        if (sources === undefined || sources.length < 2) throw err
        sources.shift()
        continue
      }
      if (!(err instanceof CriError) || !BROKEN.has(err.code)) throw err
    }
    // The runtime is being started again. No event reports that here, so the socket is tried at intervals.
    await sleep(clock, delay, signal).catch(() => undefined)
    delay = Math.min(delay * 2, LAST_DELAY_MS)
  }
}

/** The codes with which a stream ends when its server has ended. Which one comes depends on the state it was in. */
const BROKEN = new Set<GrpcCode>(["Unavailable", "Internal", "Cancelled", "Unknown"])

const FIRST_DELAY_MS = 50
const LAST_DELAY_MS = 1000

async function sourcesOf(channel: Channel, runtime: RuntimeService, clock: Clock): Promise<EventSource[]> {
  const { runtimeName } = await runtime.version()
  return runtimeName === "containerd"
    ? [containerdEvents(channel, runtime, clock), criEvents(channel)]
    : [criEvents(channel)]
}

/** Yields `Relist` once the subscription is active, then its events. */
async function* oneConnection(
  source: EventSource,
  runtime: RuntimeService,
  outer: AbortSignal,
): AsyncGenerator<ContainerEvent, void> {
  const ended = new AbortController()
  const signal = AbortSignal.any([outer, ended.signal])
  const events = new Mailbox<ContainerEvent>()
  // gRPC sends no answer to a subscription before the first event. A later call on the same connection is answered only
  // after the server has accepted the subscription.
  const onSent = () => {
    runtime.version({ signal }).then(
      () => events.push({ type: "Relist" }),
      (err: unknown) => events.fail(err),
    )
  }
  const pump = async () => {
    for await (const event of source(signal, onSent)) events.push(event)
  }
  pump().then(
    () => events.end(),
    (err: unknown) => events.fail(err),
  )
  try {
    yield* events
  } finally {
    ended.abort()
  }
}
