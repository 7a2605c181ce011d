import { field, message, repeated } from "../protobuf/message.ts"
import type { Channel } from "./channel.ts"
import { service } from "../grpc/rpc.ts"
import { CRI_NAMESPACE } from "./containerd-events.ts"

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

/** Yields the processes of containers that end, from when `onSent` is called on. Ends or throws with the connection. */
export const processExits = (channel: Channel) =>
  async function* (signal: AbortSignal, onSent: () => void): AsyncGenerator<ProcessExit, void> {
    for await (const { event } of channel.stream(Subscribe, { filters: [EXITS] }, { signal, onSent }))
      if (event !== undefined) yield TaskExit.decode(event.value)
  }
