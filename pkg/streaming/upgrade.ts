/**
 * The HTTP/1.1 side of an upgrade: negotiates the protocol, or refuses. Source:
 * apimachinery/pkg/util/httpstream/httpstream.go (Handshake), spdy/upgrade.go.
 */
import { STATUS_CODES, type IncomingHttpHeaders } from "node:http"
import type { Duplex } from "node:stream"

/** The part of a request that an upgrade needs. */
export interface UpgradeRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
}

const SPDY = "SPDY/3.1"
const PROTOCOL_HEADER = "x-stream-protocol-version"

export const isWebSocket = ({ headers }: UpgradeRequest): boolean => headers.upgrade?.toLowerCase() === "websocket"
const isSpdy = ({ headers }: UpgradeRequest): boolean => headers.upgrade?.toLowerCase() === SPDY.toLowerCase()

/** Returns the entries of a header that may be sent several times or as a list. */
export function headerList(value: string | string[] | undefined): string[] {
  return [value ?? []]
    .flat()
    .flatMap((line) => line.split(","))
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
}

/** Answers with an error instead of the upgrade and closes the connection. */
export function refuseUpgrade(
  socket: Duplex,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = Buffer.from(message)
  const lines = Object.entries({
    "Content-Type": "text/plain; charset=utf-8",
    ...headers,
    "Content-Length": String(body.length),
    Connection: "close",
  })
  socket.on("error", () => {}) // a client that is gone needs no response
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n` +
      `${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${message}`,
  )
}

/**
 * Accepts SPDY with the first of the client's stream protocols that is in `supported`, or refuses. Returns the
 * protocol; `""` when the client named none (very old ones); undefined when it was refused and answered.
 */
export function agreeToSpdy(req: UpgradeRequest, socket: Duplex, supported: readonly string[]): string | undefined {
  if (!isSpdy(req)) {
    refuseUpgrade(
      socket,
      400,
      `unable to upgrade: missing upgrade headers in request: ${JSON.stringify(req.headers.upgrade ?? "")}`,
    )
    return undefined
  }
  const offered = headerList(req.headers[PROTOCOL_HEADER])
  const protocol = offered.find((name) => supported.includes(name)) ?? ""
  if (offered.length > 0 && protocol === "") {
    refuseUpgrade(
      socket,
      403,
      `unable to upgrade: unable to negotiate protocol: client supports [${offered.join(" ")}], server ` +
        `accepts [${supported.join(" ")}]`,
      {
        "X-Accepted-Stream-Protocol-Versions": supported.join(", "),
      },
    )
    return undefined
  }
  const agreed = protocol === "" ? "" : `X-Stream-Protocol-Version: ${protocol}\r\n`
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${SPDY}\r\n${agreed}\r\n`)
  return protocol
}
