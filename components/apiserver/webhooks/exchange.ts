import { request as httpRequest, type IncomingMessage } from "node:http"
import { request as httpsRequest, type RequestOptions } from "node:https"
import { isIP } from "node:net"
import { gunzip } from "node:zlib"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { connectionFailure } from "../proxy/connection-failure.ts"
import type { ServiceAddress } from "../proxy/service-address.ts"

/** A response, whole. */
export interface Answered {
  readonly code: number
  readonly answer: string
  readonly type: string
  /** Where a redirect leads. */
  readonly location: string | undefined
  readonly retryAfter: string | undefined
}

/** Within which limits a request is sent, and how its failure is worded. */
export interface Posting {
  /** The largest response that is read, in bytes. */
  readonly mostBytes: number
  readonly clock: Clock
  readonly timeoutMs: number
  failed(why: string): Error
}

/**
 * Sends one request, and resolves to its response, which may be compressed with gzip, as Go's client takes it. @throws
 * what `failed` returns
 */
export function exchange(
  options: RequestOptions & ServiceAddress,
  body: Buffer | undefined,
  { clock, timeoutMs, failed, mostBytes }: Posting,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const outgoing = (options.protocol === "https:" ? httpsRequest : httpRequest)(options)
    const timer = clock.setTimeout(() => end(failed("context deadline exceeded")), timeoutMs)
    const end = (err: Error) => {
      timer.cancel()
      reject(err)
      outgoing.destroy()
    }
    // The listener stays after the first error, since a failed connection can emit another one, which would be
    // uncaught.
    outgoing.on("error", (err: NodeJS.ErrnoException) => end(failed(connectionFailure(err, options))))
    outgoing.once("response", (incoming: IncomingMessage) => {
      const parts: Buffer[] = []
      let bytes = 0
      incoming.on("data", (part: Buffer) => {
        parts.push(part)
        if ((bytes += part.length) > mostBytes) end(failed(`the answer is larger than ${mostBytes} bytes`))
      })
      incoming.on("error", (err) => end(failed(err.message)))
      incoming.once("end", () => {
        timer.cancel()
        const whole = (answer: Buffer) =>
          resolve({
            code: incoming.statusCode ?? 0,
            answer: answer.toString(),
            type: incoming.headers["content-type"] ?? "text/plain",
            location: incoming.headers.location,
            retryAfter: incoming.headers["retry-after"],
          })
        const sent = Buffer.concat(parts)
        if (incoming.headers["content-encoding"] !== "gzip") return whole(sent)
        gunzip(sent, { maxOutputLength: mostBytes }, (err, unpacked) =>
          err === null ? whole(unpacked) : reject(failed(unpackingFailure(err, mostBytes))),
        )
      })
    })
    outgoing.end(body)
  })
}

const unpackingFailure = ({ code, message }: NodeJS.ErrnoException, mostBytes: number): string =>
  code === "ERR_BUFFER_TOO_LARGE" ? `the answer is larger than ${mostBytes} bytes` : `gzip: ${message}`

/** Returns the host of a URL, without the brackets of an IPv6 address, and its port. */
export const addressOf = ({ hostname, protocol, port }: URL): ServiceAddress => ({
  host: bare(hostname),
  port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
})

/** Returns the server name of TLS for the host of a URL; an IP address cannot stand there. */
export const serverName = (hostname: string): { readonly servername?: string } =>
  isIP(bare(hostname)) === 0 ? { servername: hostname } : {}

const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, "")
