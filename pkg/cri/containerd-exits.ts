import { field, message, repeated } from "../protobuf/message.ts"
import type { Channel } from "./channel.ts"
import { service } from "../grpc/rpc.ts"
import { CRI_NAMESPACE } from "./containerd-events.ts"
import type { RuntimeService } from "./service.ts"

/** Source: containerd api/services/events/v1/events.proto, api/events/task.proto. */
const Subscribe = service("containerd.services.events.v1.Events")(
  "Subscribe",
  message({ filters: repeated(1, "string") }),
  message({ event: field(4, message({ value: field(2, "bytes") })) }),
)
const TaskExit = message({ containerId: field(1, "string"), id: field(2, "string") })

const EXITS = `namespace==${CRI_NAMESPACE},topic=="/tasks/exit"`

/** A process that has ended: `id` is the container's own, or that of an exec. */
export interface ProcessExit {
  readonly containerId: string
  readonly id: string
}

/**
 * Yields the processes of containers that end, of execs too, from when `onActive` is called on. Ends or throws with the
 * connection, and ends where it cannot be known that the subscription is active.
 */
export const processExits = (channel: Channel, runtime: Pick<RuntimeService, "version">) =>
  async function* (outer: AbortSignal, onActive: () => void): AsyncGenerator<ProcessExit, void> {
    const failed = new AbortController()
    const signal = AbortSignal.any([outer, failed.signal])
    // Later calls on the same connection are answered only after the runtime has accepted the subscription.
    const onSent = () => void runtime.version({ signal }).then(onActive, () => failed.abort())
    for await (const { event } of channel.stream(Subscribe, { filters: [EXITS] }, { signal, onSent }))
      if (event !== undefined) yield TaskExit.decode(event.value)
  }
