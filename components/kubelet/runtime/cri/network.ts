import { joinHostPort } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { Buffer } from "node:buffer"
import { request as httpRequest, type IncomingMessage } from "node:http"
import { request as httpsRequest } from "node:https"
import { connect } from "node:net"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { connectionWords } from "../../../../pkg/errors/connection-words.ts"
import type { HttpProbeRequest, PodNetwork } from "../runtime.ts"
import { checkHealth } from "./grpc-health.ts"

const MAX_BODY = 10 * 1024
const MAX_REDIRECTS = 10
/** The statuses that Go's client follows. Source: net/http/client.go redirectBehavior. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Opens connections from this host to its pods. */
export function hostNetwork(clock: Clock): PodNetwork {
  return {
    httpGet: (request, signal) => follow(request, signal, 0),

    tcpConnect: (host, port, timeoutMs) =>
      new Promise((resolve, reject) => {
        const socket = connect({ host, port })
        const timer = clock.setTimeout(
          () => socket.destroy(new Error(`dial tcp ${joinHostPort(host, port)}: i/o timeout`)),
          timeoutMs,
        )
        socket.once("connect", () => {
          timer.cancel()
          // With FIN: many servers log a reset as an error. Source: pkg/probe/dialer_others.go.
          socket.destroy()
          resolve()
        })
        socket.once("error", (err) => {
          timer.cancel()
          reject(dialError(err, host, port))
        })
      }),

    grpcHealth: (host, port, service, timeoutMs) =>
      checkHealth(joinHostPort(host, port), service, { clock, timeoutMs }),
  }

  async function follow(
    request: HttpProbeRequest,
    signal: AbortSignal | undefined,
    redirects: number,
  ): Promise<{ status: number; statusText: string; body: string }> {
    const answer = await once(request, signal)
    const { location } = answer
    if (!REDIRECTS.has(answer.status) || location === undefined) return answer
    const target = new URL(
      location,
      `${request.scheme.toLowerCase()}://${joinHostPort(request.host, request.port)}${request.path}`,
    )
    // A redirect to another host counts as success, as upstream, since it does not show that this host is unhealthy.
    if (target.hostname !== new URL(`http://${joinHostPort(request.host, request.port)}`).hostname) return answer
    if (redirects >= MAX_REDIRECTS) throw new Error("stopped after 10 redirects")
    const secure = target.protocol === "https:"
    return follow(
      {
        ...request,
        scheme: secure ? "HTTPS" : "HTTP",
        port: Number(target.port || (secure ? 443 : 80)),
        path: target.pathname + target.search,
      },
      signal,
      redirects + 1,
    )
  }

  function once(
    { scheme, host, port, path, headers, timeoutMs }: HttpProbeRequest,
    signal: AbortSignal | undefined,
  ): Promise<{ status: number; statusText: string; body: string; location: string | undefined }> {
    return new Promise((resolve, reject) => {
      const url = `${scheme.toLowerCase()}://${joinHostPort(host, port)}${path}`
      const options = {
        host,
        port,
        path,
        method: "GET",
        agent: false as const,
        rejectUnauthorized: false,
        headers: grouped(headers),
        ...(signal === undefined ? {} : { signal }),
      }
      const onResponse = (response: IncomingMessage) => {
        const chunks: Buffer[] = []
        let size = 0
        const done = () => {
          timer.cancel()
          resolve({
            status: response.statusCode ?? 0,
            statusText: response.statusMessage ?? "",
            body: Buffer.concat(chunks).subarray(0, MAX_BODY).toString("utf8"),
            location: response.headers.location,
          })
          call.destroy()
        }
        response.on("data", (chunk: Buffer) => {
          chunks.push(chunk)
          size += chunk.length
          if (size >= MAX_BODY) done()
        })
        response.once("end", done)
        response.once("error", () => {
          timer.cancel()
          call.destroy()
          reject(new Error("unexpected EOF"))
        })
      }
      const call = scheme === "HTTPS" ? httpsRequest(options, onResponse) : httpRequest(options, onResponse)
      const timer = clock.setTimeout(
        () =>
          fail(new Error(`Get "${url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`)),
        timeoutMs,
      )
      const fail = (err: Error) => {
        timer.cancel()
        call.destroy()
        reject("code" in err ? new Error(`Get "${url}": ${failureOf(err, host, port, local)}`) : err)
      }
      let local: string | undefined
      call.once("socket", (socket) => {
        socket.once("connect", () => {
          local = joinHostPort(socket.localAddress ?? "", socket.localPort ?? 0)
        })
      })
      call.once("error", fail)
      call.end()
    })
  }
}

/** Returns why a request failed, in Go's words. */
const failureOf = (err: Error, host: string, port: number, local: string | undefined): string =>
  connectionWords(err, { local, remote: joinHostPort(host, port) }) ?? dialError(err, host, port).message

/** Returns the error with the message of Go's dialer, for which users search. */
function dialError(err: Error, host: string, port: number): Error {
  const code = "code" in err ? err.code : undefined
  const why =
    code === "ECONNREFUSED" || code === "ConnectionRefused"
      ? "connect: connection refused"
      : code === "EHOSTUNREACH"
        ? "connect: no route to host"
        : code === "ENETUNREACH"
          ? "connect: network is unreachable"
          : code === "ETIMEDOUT"
            ? "i/o timeout"
            : undefined
  if (code === "ENOTFOUND") return new Error(`dial tcp: lookup ${host}: no such host`)
  return why === undefined ? err : new Error(`dial tcp ${joinHostPort(host, port)}: ${why}`)
}

/** Groups values by header name, since a name may appear several times. */
function grouped(headers: HttpProbeRequest["headers"]): Record<string, string | string[]> {
  const all: Record<string, string | string[]> = {}
  for (const { name, value: text } of headers) {
    // A character of a header is sent as one byte.
    const value = Buffer.from(text).toString("latin1")
    const there = all[name]
    all[name] = there === undefined ? value : [...(Array.isArray(there) ? there : [there]), value]
  }
  return { Connection: "close", ...all }
}
