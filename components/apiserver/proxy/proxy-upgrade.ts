import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from "node:http"
import { pipeline, type Duplex } from "node:stream"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { splice } from "../../../pkg/streaming/splice.ts"
import type { Exchange, Upgrade } from "../call/exchange.ts"
import type { RequestInfo } from "../call/request-info.ts"
import { headersToClient, headersToTarget } from "./proxy-headers.ts"
import { dialError, forwardedUri, requestTo, writeHead } from "./proxy-pass.ts"
import { pathToTarget } from "./proxy-path.ts"
import type { ProxyTarget } from "./proxy-target.ts"

/**
 * Passes an upgrade request to a target, and joins the two connections once the target has agreed. Before that the
 * client speaks HTTP, and each of its requests must be authorized. A refusal is sent as the response, and the
 * connection is closed. Source: apimachinery pkg/util/proxy/upgradeaware.go tryUpgrade.
 */
export function passUpgrade(
  exchange: Exchange,
  info: RequestInfo,
  target: ProxyTarget,
  upgrade: Upgrade,
): Promise<void> {
  const outgoing = requestTo(target, {
    method: exchange.req.method ?? "GET",
    path: pathToTarget(info),
    headers: upgradeHeaders(exchange, forwardedUri(exchange, info)),
  })
  return joinUpgrade(exchange, upgrade, outgoing, (err) => dialError(err, target))
}

/** Returns the headers of an upgrade request for its target. */
export function upgradeHeaders(exchange: Exchange, uri: string): OutgoingHttpHeaders {
  // A body would be read as the first bytes after the upgrade.
  const { "content-length": _length, "transfer-encoding": _encoding, ...headers } = headersToTarget(exchange, uri)
  return { ...headers, connection: "Upgrade", upgrade: exchange.req.headers.upgrade ?? "" }
}

/** Sends an upgrade request, and joins the connections when the target agrees. */
export function joinUpgrade(
  exchange: Exchange,
  { socket, head, answer }: Upgrade,
  outgoing: ClientRequest,
  errorOf: (err: NodeJS.ErrnoException) => unknown,
): Promise<void> {
  const { res } = exchange
  return new Promise((resolve, reject) => {
    res.once("close", () => outgoing.destroy())
    const failed = (err: unknown) => {
      outgoing.destroy()
      if (answer.headersSent) socket.destroy()
      reject(err)
    }
    outgoing.on("error", (err) => failed(errorOf(err)))
    outgoing.once("response", (incoming: IncomingMessage) => {
      const { statusCode = 502 } = incoming
      if (statusCode < 400)
        return failed(
          new ApiError("ServiceUnavailable", `invalid upgrade response: status code ${statusCode}`, undefined, {
            code: 500,
          }),
        )
      try {
        writeHead(res, statusCode, headersToClient(exchange, incoming.headers))
      } catch (err) {
        return failed(err)
      }
      const ended = () => {
        outgoing.destroy()
        resolve()
      }
      // The client has gone, or the response, which can have no body, has ended with its head.
      if (res.destroyed) return ended()
      pipeline(incoming, res, ended)
    })
    outgoing.once("upgrade", (incoming: IncomingMessage, remote: Duplex, first: Buffer) => {
      answer.upgraded()
      socket.write(headOf(incoming))
      if (first.length > 0) socket.write(first)
      if (head.length > 0) remote.write(head)
      void splice(socket, remote).then(resolve)
    })
    outgoing.end()
  })
}

/** Returns the head of the target's response as it came. */
function headOf({ rawHeaders }: IncomingMessage): string {
  const lines: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`)
  return `HTTP/1.1 101 Switching Protocols\r\n${lines.join("")}\r\n`
}
