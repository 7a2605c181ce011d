import { isIP } from "node:net"
import { plainAddress } from "../../../pkg/apimachinery/addresses/plain-address.ts"
import { remoteAddress } from "../../../pkg/runtime/http/listen.ts"
import type { Exchange } from "../call/exchange.ts"

/** What events show of a request as it was sent. */
export interface Audited {
  readonly auditId: string
  /** The target as it was sent: the path with its query. */
  readonly uri: string
  userAgent(): string | undefined
  /** The addresses that sent the request on, the first one first. */
  sourceIPs(): readonly string[]
}

/** Returns what events show of a request over HTTP. */
export const auditedExchange = (exchange: Pick<Exchange, "req" | "auditId" | "header">): Audited => ({
  auditId: exchange.auditId,
  uri: exchange.req.url ?? "",
  userAgent: () => exchange.header("user-agent"),
  sourceIPs: () => sourceIPs(exchange),
})

/**
 * Returns the addresses in X-Forwarded-For and X-Real-Ip, which clients can choose, and then that of the connection.
 * Source: apimachinery pkg/util/net/http.go SourceIPs.
 */
function sourceIPs(exchange: Pick<Exchange, "req" | "header">): readonly string[] {
  const found = (exchange.header("x-forwarded-for") ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => isIP(part) !== 0)
  const real = exchange.header("x-real-ip") ?? ""
  if (isIP(real) !== 0 && !found.includes(real)) found.push(real)
  const remote = plainAddress(remoteAddress(exchange.req))
  if (found.length === 0 || found.at(-1) !== remote) found.push(remote)
  return found
}
