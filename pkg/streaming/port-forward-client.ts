/**
 * Port forwarding as the client of a container runtime or a kubelet. Source: client-go
 * tools/portforward/portforward.go.
 */
import type { Duplex } from "node:stream"
import type { Clock } from "../clock/clock.ts"
import { type DialOptions, dialSpdy } from "./dial.ts"
import { PORT_FORWARD_PROTOCOL } from "./port-forward.ts"
import { SpdyConnection } from "./spdy/connection.ts"
import { dialWebSocket, type WebSocketOptions } from "./websocket-client.ts"
import { WebSocketTunnel } from "./websocket.ts"

/** One connection to a port of a pod. */
export interface PortConnection {
  readonly data: Duplex
  /**
   * The error message of the other side, `""` when there is none. Resolves when the connection has ended. Never
   * rejects.
   */
  readonly error: Promise<string>
}

/** What the connections of a client are passed on to. */
export interface ForwardTarget {
  /** Connects to a port of the pod. A promise that is returned rejects when nothing can be opened any more. */
  open(port: number): PortConnection | Promise<PortConnection>
  readonly closed: Promise<void>
  close(): void
}

export interface PortForwardClient extends ForwardTarget {
  open(port: number): PortConnection
}

/** Rejects with UpgradeRefused or the socket's error. */
export async function connectPortForward(options: DialOptions): Promise<PortForwardClient> {
  const { socket, head } = await dialSpdy(options, [PORT_FORWARD_PROTOCOL])
  return clientOver(new SpdyConnection({ socket, side: "client", head }), options.clock, SPDY_PING_MS)
}

/** The same with SPDY in a WebSocket, as kubectl does it first. Source: client-go tools/portforward/tunneling_dialer.go. */
export async function connectPortForwardOverWebSocket(options: WebSocketOptions): Promise<PortForwardClient> {
  const { ws } = await dialWebSocket(options, [`SPDY/3.1+${PORT_FORWARD_PROTOCOL}`])
  const connection = new SpdyConnection({ socket: new WebSocketTunnel(ws), side: "client" })
  return clientOver(connection, options.clock, TUNNEL_PING_MS)
}

/** Source: client-go transport/spdy/spdy.go. */
const SPDY_PING_MS = 5000
/** Source: client-go tools/portforward/tunneling_dialer.go. */
const TUNNEL_PING_MS = 10_000

function clientOver(connection: SpdyConnection, clock: Clock | undefined, pingMs: number): PortForwardClient {
  if (clock !== undefined) connection.keepAlive(clock, pingMs)
  let requests = 0
  return {
    open(port) {
      const headers = { port: String(port), requestid: String(requests++) }
      const error = connection.open({ streamtype: "error", ...headers })
      error.end() // this side sends nothing on it
      const data = connection.open({ streamtype: "data", ...headers })
      return { data, error: readAll(error) }
    },
    closed: connection.closed,
    close: () => connection.destroy(),
  }
}

async function readAll(stream: Duplex): Promise<string> {
  let text = ""
  for await (const chunk of stream as AsyncIterable<Buffer>) text += chunk.toString("utf8")
  return text
}
