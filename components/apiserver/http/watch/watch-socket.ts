import type { WebSocket } from "ws"
import type { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { Value } from "../../../../pkg/metrics/registry.ts"
import { acceptWebSocket } from "../../../../pkg/streaming/websocket.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { WatchBatch } from "../../cacher/frame.ts"
import type { ApiRequest, Pipeline, WatchSink } from "../../request.ts"
import type { Upgrade, Exchange } from "../exchange.ts"
import type { FrameEncoder } from "./watch.ts"

/**
 * Most bytes that wait for a slow client, beside the initial events. Beyond it the watch is closed, and the client
 * resumes or lists again.
 */
const MAX_BEHIND_BYTES = 16 * 1024 * 1024

/** The initial events that are encoded and written in one turn: some milliseconds of work. */
const FRAMES_OF_TURN = 100

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
  { events, clock }: { readonly events: Value; readonly clock: Pick<Clock, "afterTurn"> },
): Promise<void> {
  let waiting: WatchBatch[] = []
  /** Whether a later turn writes what waits. */
  let isLater = false
  /** Bytes of the initial events. */
  let allowed = 0
  let ws: WebSocket | undefined
  let ended = false
  let endError: ApiError | undefined
  const isBehind = (socket: WebSocket) => socket.bufferedAmount > MAX_BEHIND_BYTES + allowed
  const write = (socket: WebSocket, { frames, isInitial }: WatchBatch): boolean => {
    events.inc(frames.length)
    for (const frame of frames) {
      const bytes = encoder.frame(frame)
      if (isInitial) allowed += bytes.length
      socket.send(bytes, { binary: !encoder.text })
    }
    return !isBehind(socket)
  }
  /** Writes what waits, some frames in a turn. */
  const writeWaiting = (socket: WebSocket): void => {
    isLater = false
    const next = waiting.shift()
    if (next !== undefined && socket.readyState === socket.OPEN) {
      const [now, later] = [next.frames.slice(0, FRAMES_OF_TURN), next.frames.slice(FRAMES_OF_TURN)]
      if (later.length > 0) waiting.unshift(new WatchBatch(later, next.isInitial))
      if (!write(socket, new WatchBatch(now, next.isInitial))) {
        waiting = []
        return socket.terminate()
      }
    }
    if (waiting.length > 0) {
      isLater = true
      clock.afterTurn(() => writeWaiting(socket))
    } else if (ended) close(socket)
  }
  const send = (socket: WebSocket, batch: WatchBatch): boolean => {
    if (socket.readyState !== socket.OPEN) return false
    if (!isLater && batch.frames.length <= FRAMES_OF_TURN) return write(socket, batch)
    waiting.push(batch)
    if (!isLater) writeWaiting(socket)
    return true
  }
  const close = (socket: WebSocket) => {
    if (isBehind(socket)) return socket.terminate()
    if (endError !== undefined) socket.send(encoder.error(endError), { binary: !encoder.text })
    socket.close(1000)
  }
  const sink: WatchSink = {
    // Until the handshake is complete, batches wait.
    send: (batch) => (ws === undefined ? waiting.push(batch) > 0 : send(ws, batch)),
    end(error) {
      ended = true
      endError = error
      if (ws !== undefined && !isLater) close(ws)
    },
  }
  // Refusals are thrown here, while a response with their code can still be sent.
  const watch = pipeline.watch(request, sink)
  answer.upgraded()
  try {
    const accepted = await acceptWebSocket(req, socket, head, PROTOCOLS)
    if (accepted === undefined) return
    const open = (ws = accepted.ws)
    writeWaiting(open)
    await new Promise<void>((resolve) => {
      open.once("close", () => resolve())
      open.on("error", () => open.terminate())
      if (open.readyState === open.CLOSED) resolve()
    })
  } finally {
    watch.close()
  }
}
