import type { WebSocket } from "ws"
import type { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { Value } from "../../../../pkg/metrics/registry.ts"
import { acceptWebSocket } from "../../../../pkg/streaming/websocket.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { drained } from "../../../../pkg/runtime/http/pass-on.ts"
import type { WatchBatch } from "../../call/frame.ts"
import type { ApiRequest, Pipeline, WatchSink } from "../../call/request.ts"
import type { Upgrade, Exchange } from "../../call/exchange.ts"
import { InitialEvents, MAX_BEHIND_BYTES, type Outlet } from "./initial-events.ts"
import type { FrameEncoder } from "./watch.ts"

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
  let ws: WebSocket | undefined
  /** What came before the handshake was complete. */
  let early: WatchBatch[] = []
  /** What the watch begins with, until it is written. */
  let first: InitialEvents | undefined
  let isEnded = false
  let endError: ApiError | undefined
  const write = ({ frames }: WatchBatch): boolean => {
    if (ws?.readyState !== ws?.OPEN) return false
    events.inc(frames.length)
    for (const frame of frames) ws?.send(encoder.frame(frame), { binary: !encoder.text })
    return (ws?.bufferedAmount ?? 0) <= MAX_BEHIND_BYTES
  }
  const close = () => {
    if (ws === undefined) return
    if (ws.bufferedAmount > MAX_BEHIND_BYTES) return ws.terminate()
    if (endError !== undefined) ws.send(encoder.error(endError), { binary: !encoder.text })
    ws.close(1000)
  }
  const outlet: Omit<Outlet, "failed"> = {
    write,
    full: () => (socket.writableNeedDrain ? drained(socket) : undefined),
    isOver: () => ws?.readyState !== ws?.OPEN,
    done(how) {
      first = undefined
      if (how === "cut") ws?.terminate()
      else if (isEnded) close()
    },
  }
  const send = (batch: WatchBatch): boolean => {
    if (first !== undefined) return first.add(batch)
    return ws === undefined ? early.push(batch) > 0 : write(batch)
  }
  const sink: WatchSink = {
    sendFirst(frames, failed) {
      first = new InitialEvents(frames, { ...outlet, failed }, clock)
      if (ws !== undefined) first.begin()
    },
    send,
    end(error) {
      isEnded = true
      endError = error
      if (ws === undefined) return
      if (first === undefined) close()
      else first.end()
    },
  }
  // Refusals are thrown here, while a response with their code can still be sent.
  const watch = pipeline.watch(request, sink)
  answer.upgraded()
  try {
    const accepted = await acceptWebSocket(req, socket, head, PROTOCOLS)
    if (accepted === undefined) return
    const open = (ws = accepted.ws)
    for (const batch of early) write(batch)
    early = []
    if (first !== undefined) first.begin()
    else if (isEnded) close()
    await new Promise<void>((resolve) => {
      open.once("close", () => resolve())
      open.on("error", () => open.terminate())
      if (open.readyState === open.CLOSED) resolve()
    })
  } finally {
    watch.close()
  }
}
