import type { Clock } from "../clock/clock.ts"
import type { Tracing } from "../tracing/tracing.ts"
import { openChannel } from "./channel.ts"
import { processExits, type ProcessExit } from "./containerd-exits.ts"
import { subscribeContainerEvents } from "./container-events.ts"
import { CRI_NAMESPACE } from "./containerd-events.ts"
import { imageService } from "./image-service.ts"
import { runtimeService } from "./runtime-service.ts"
import type { ImageService, RuntimeService } from "./service.ts"

export interface CriClient {
  readonly runtime: RuntimeService
  readonly images: ImageService
  /** See containerd-exits.ts. containerd only. */
  processExits(signal: AbortSignal, onActive: () => void): AsyncIterable<ProcessExit>
  close(): void
}

/**
 * A client of the container runtime at `endpoint`: an absolute path of a unix socket, with or without `unix://`. The
 * client connects with the first call and reconnects by itself. With `tracing` each call carries its span to the
 * runtime.
 */
export function connectCri(endpoint: string, clock: Clock, tracing?: Pick<Tracing, "traceparent">): CriClient {
  const path = endpoint.replace(/^unix:\/\//, "")
  if (!path.startsWith("/"))
    throw new Error(
      `Cannot connect to the container runtime at "${endpoint}": give the absolute path of its unix socket`,
    )
  // The namespace is for containerd's own event service; its CRI ignores it.
  const channel = openChannel(path, clock, {
    metadata: { "containerd-namespace": CRI_NAMESPACE },
    traceparent: tracing === undefined ? undefined : () => tracing.traceparent(),
  })
  const runtime: RuntimeService = runtimeService(channel, (signal) =>
    subscribeContainerEvents(channel, runtime, clock, signal),
  )
  return {
    runtime,
    images: imageService(channel),
    processExits: processExits(channel, runtime),
    close: () => channel.close(),
  }
}
