import type { WebSocket } from "ws"
import type { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { Value } from "../../../../pkg/metrics/registry.ts"
import { acceptWebSocket } from "../../../../pkg/streaming/websocket.ts"
import type { WatchBatch } from "../../cacher/frame.ts"
import type { ApiRequest, Pipeline, WatchSink } from "../../request.ts"
import type { Upgrade, Exchange } from "../exchange.ts"
import type { FrameEncoder } from "./watch.ts"

const MAX_BEHIND_BYTES = 16 * 1024 * 1024

/**
 * The subprotocols that a watch accepts. A browser that sends its token as a subprotocol must offer one of these too.
 */
const PROTOCOLS = ["binary.k8s.io", "base64.binary.k8s.io", "v4.channel.k8s.io"]

/**
 * Serves a watch over a WebSocket: one message for each event, text for JSON and binary for protobuf. Resolves when the
 * watch ends. Source: apiserver pkg/endpoints/handlers/watch.go HandleWS.
 */
export async function watchOverWebSocket(
  { req }: Exchange,
  { socket, head, answer }: Upgrade,
  request: ApiRequest,
  pipeline: Pipeline,
  encoder: FrameEncoder,
  events: Value,
): Promise<void> {
  const waiting: WatchBatch[] = []
  let ws: WebSocket | undefined
  let ended = false
  let endError: ApiError | undefined
  const write = (socket: WebSocket, { frames }: WatchBatch): boolean => {
    events.inc(frames.length)
    for (const frame of frames) socket.send(encoder.frame(frame), { binary: !encoder.text })
    return socket.bufferedAmount <= MAX_BEHIND_BYTES
  }
  const close = (socket: WebSocket) => {
    if (socket.bufferedAmount > MAX_BEHIND_BYTES) return socket.terminate()
    if (endError !== undefined) socket.send(encoder.error(endError), { binary: !encoder.text })
    socket.close(1000)
  }
  const sink: WatchSink = {
    // Until the handshake is complete, batches wait.
    send: (batch) => (ws === undefined ? waiting.push(batch) > 0 : ws.readyState === ws.OPEN && write(ws, batch)),
    end(error) {
      ended = true
      endError = error
      if (ws !== undefined) close(ws)
    },
  }
  // Refusals are thrown here, while a response with their code can still be sent.
  const watch = pipeline.watch(request, sink)
  answer.upgraded()
  try {
    const accepted = await acceptWebSocket(req, socket, head, PROTOCOLS)
    if (accepted === undefined) return
    const open = (ws = accepted.ws)
    for (const batch of waiting) write(open, batch)
    if (ended) close(open)
    await new Promise<void>((resolve) => {
      open.once("close", () => resolve())
      open.on("error", () => open.terminate())
      if (open.readyState === open.CLOSED) resolve()
    })
  } finally {
    watch.close()
  }
}
