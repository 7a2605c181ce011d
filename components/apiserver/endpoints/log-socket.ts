import type { WebSocket } from "ws"
import { acceptWebSocket } from "../../../pkg/streaming/websocket.ts"
import type { Exchange, Upgrade } from "../call/exchange.ts"
import { accepted } from "./accept-upgrade.ts"

const BASE64 = "base64.binary.k8s.io"
const PROTOCOLS = ["binary.k8s.io", BASE64]

/**
 * Sends a log as messages of a WebSocket: first an empty one, which shows that the stream is open, then the bytes as
 * they come, in base64 if the client asked for that. Closes the socket after the last message, and ignores what the
 * client sends. Source: k8s.io/streaming pkg/httpstream/wsstream/stream.go.
 */
export async function sendLogOverWebSocket(
  exchange: Exchange,
  upgrade: Upgrade,
  log: AsyncIterable<Uint8Array>,
): Promise<void> {
  const agreed = await accepted(exchange, upgrade, (req, socket, head) => acceptWebSocket(req, socket, head, PROTOCOLS))
  if (agreed === undefined) return
  const { ws, protocol } = agreed
  ws.on("error", () => ws.terminate())
  const isText = protocol === BASE64
  const send = (part: Uint8Array) => sent(ws, isText ? Buffer.from(part).toString("base64") : part)
  await send(new Uint8Array())
  for await (const part of log) {
    if (ws.readyState !== ws.OPEN) break
    await send(part)
  }
  ws.close(1000)
}

/** Resolves when the message is sent, so that a slow client slows down the reading of the log. */
const sent = (ws: WebSocket, message: Uint8Array | string): Promise<void> =>
  new Promise((resolve) => ws.send(message, { binary: typeof message !== "string" }, () => resolve()))
