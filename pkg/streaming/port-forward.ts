/**
 * Port forwarding as the server of a client. Sources: k8s.io/kubelet/pkg/cri/streaming/portforward (httpstream.go,
 * websocket.go),
 *  apiserver/pkg/util/proxy/streamtunnel.go. */
import { type Duplex, PassThrough, type Writable } from "node:stream"
import { Queue } from "./queue.ts"
import { setIdleLimit } from "./remote-command.ts"
import { SpdyConnection } from "./spdy/connection.ts"
import type { SpdyStream } from "./spdy/stream.ts"
import { agreeToSpdy, headerList, isWebSocket, refuseUpgrade, type UpgradeRequest } from "./upgrade.ts"
import { acceptWebSocket, WebSocketChannels, WebSocketTunnel } from "./websocket.ts"

/** One connection that the client forwards. */
export interface ForwardedConnection {
  readonly port: number
  /**
   * The bytes in both directions; each direction is closed on its own. End it when the target has ended, destroy it
   * when the target is lost.
   */
  readonly data: Duplex
  /** For the reason why the port could not be reached, if so. Clients then end the whole session. Ends with `data`. */
  readonly error: Writable
  /** Resolves when the client does not need the connection any more: what the target still sends is dropped. */
  readonly gone: Promise<void>
}

/**
 * The connections of one client in the order they come. The iteration ends when no more can come; `closed` resolves
 * when the client has disconnected. Only one reader is allowed.
 */
export interface PortForwardSession extends AsyncIterable<ForwardedConnection> {
  readonly protocol: string
  readonly closed: Promise<void>
  /** Accepts no more connections and lets open ones finish. */
  close(): void
}

export const PORT_FORWARD_PROTOCOL = "portforward.k8s.io"
const TUNNEL_PROTOCOL = `SPDY/3.1+${PORT_FORWARD_PROTOCOL}`
const CHANNEL_PROTOCOLS = ["v4.channel.k8s.io", "v4.base64.channel.k8s.io"]
/**
 * A client is disconnected after this many milliseconds without a byte in either direction. Source: the kubelet's
 * default streaming idle timeout.
 */
const IDLE_MS = 4 * 3600 * 1000

/**
 * Upgrades a request for port forwarding. Resolves to undefined when it was refused and answered. `parameter` is the
 * query parameter with the ports for clients that use WebSocket channels.
 */
export async function acceptPortForward(
  req: UpgradeRequest,
  socket: Duplex,
  head: Buffer,
  parameter: "ports" | "port" = "ports",
): Promise<PortForwardSession | undefined> {
  if (!isWebSocket(req)) {
    const protocol = agreeToSpdy(req, socket, [PORT_FORWARD_PROTOCOL])
    if (protocol === undefined) return undefined
    setIdleLimit(socket, IDLE_MS)
    return overSpdy(socket, head, PORT_FORWARD_PROTOCOL)
  }
  if (headerList(req.headers["sec-websocket-protocol"]).includes(TUNNEL_PROTOCOL)) {
    const accepted = await acceptWebSocket(req, socket, head, [TUNNEL_PROTOCOL])
    return accepted && overSpdy(new WebSocketTunnel(accepted.ws), Buffer.alloc(0), TUNNEL_PROTOCOL)
  }
  return overChannels(req, socket, head, parameter)
}

function overSpdy(socket: Duplex, head: Buffer, protocol: string): PortForwardSession {
  const queue = new Queue<ForwardedConnection>()
  const pairs = new Map<string, { data?: SpdyStream; error?: SpdyStream }>()
  const connection = new SpdyConnection({
    socket,
    side: "server",
    head,
    onStream(stream) {
      const { streamtype: type, port: portText = "" } = stream.headers
      const port = Number(portText)
      if ((type !== "data" && type !== "error") || !/^\d+$/.test(portText) || port < 1 || port > 65535) return false
      // Clients before 1.3 send no request id. Their streams come in pairs of neighbouring numbers, the error stream
      // first.
      const request = stream.headers.requestid ?? String(type === "error" ? stream.id : stream.id - 2)
      const pair = pairs.get(request) ?? {}
      if (pair[type] !== undefined) return false
      pair[type] = stream
      pairs.set(request, pair)
      void stream.gone.then(() => {
        if (pairs.get(request) === pair) pairs.delete(request)
      })
      const { data, error } = pair
      if (data !== undefined && error !== undefined) {
        pairs.delete(request)
        queue.push(forwarded(port, data, error, data.gone))
      }
      return true
    },
  })
  void connection.closed.then(() => queue.end())
  return {
    protocol,
    closed: connection.closed,
    close: () => connection.close(),
    [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](),
  }
}

async function overChannels(
  req: UpgradeRequest,
  socket: Duplex,
  head: Buffer,
  parameter: "ports" | "port",
): Promise<PortForwardSession | undefined> {
  const ports = headerList(new URL(req.url ?? "/", "http://host").searchParams.getAll(parameter))
  const bad = ports.find((port) => !/^\d+$/.test(port) || Number(port) < 1 || Number(port) > 65535)
  if (ports.length === 0 || bad !== undefined) {
    refuseUpgrade(
      socket,
      400,
      bad === undefined ? `query parameter "${parameter}" is required` : `unable to parse "${bad}" as a port`,
    )
    return undefined
  }
  const accepted = await acceptWebSocket(req, socket, head, CHANNEL_PROTOCOLS)
  if (accepted === undefined) return undefined
  const channels = new WebSocketChannels(accepted.ws, {
    base64: accepted.protocol.includes("base64"),
    closeSignal: false,
  })
  const queue = new Queue<ForwardedConnection>()
  let open = ports.length
  for (const [index, text] of ports.entries()) {
    const port = Number(text)
    const [data, error] = [channels.channel(index * 2), channels.channel(index * 2 + 1)]
    // Each channel begins with its port, in little-endian order.
    for (const channel of [data, error]) channel.write(Buffer.from([port & 0xff, port >> 8]))
    data.once("finish", () => {
      open--
      if (open === 0) channels.close() // only closing tells the client that its connections are over
    })
    queue.push(forwarded(port, data, error, channels.closed))
  }
  queue.end()
  return {
    protocol: accepted.protocol,
    closed: channels.closed,
    close: () => channels.close(),
    [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](),
  }
}

function forwarded(port: number, data: Duplex, error: Duplex, gone: Promise<void>): ForwardedConnection {
  error.resume() // the client half-closes it without data
  const finish = () => void error.end()
  data.once("finish", finish)
  data.once("close", finish)
  return { port, data, error, gone }
}

/** Ends `connection` with a reason, in upstream's words. */
export function refuseForwarded(
  { port, data, error }: ForwardedConnection,
  pod: string,
  uid: string,
  reason: string,
): void {
  // Further data of the client is dropped. Unread data would block the whole connection, and so the client's message
  // that it is done.
  data.resume()
  const message = new PassThrough()
  message.end(`error forwarding port ${port} to pod ${pod}, uid ${uid}: ${reason}`)
  message.pipe(error)
  message.once("end", () => data.end())
}
