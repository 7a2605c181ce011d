import { request, type RequestOptions } from "node:https"
import type { IncomingMessage } from "node:http"
import { isIP } from "node:net"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Tracing } from "../../../pkg/tracing/tracing.ts"
import type { Objects } from "../cacher/objects.ts"
import { serviceAddress, type ServiceAddress } from "../endpoints/service-address.ts"
import { isJsonObject } from "../../../pkg/apimachinery/json/json-value.ts"
import { BodyError } from "../http/codec/body-error.ts"
import { connectionFailure } from "../http/connection-failure.ts"
import { parseJson } from "../http/codec/json.ts"
import { Agents } from "./agents.ts"
import { failedPost, WebhookCallError, webhookUrl, type WebhookCaller } from "./webhook-caller.ts"

/** The response limit for small requests, as upstream's client has it. */
const LEAST_BOUND_BYTES = 3 * 1024 * 1024
/** Converted objects may be larger than the objects sent, so the limit grows with the request. */
const mostAnswerBytes = (sent: number): number => Math.max(LEAST_BOUND_BYTES, sent * 4)

export interface HttpsCallerOptions {
  readonly objects: Objects
  readonly clock: Clock
  /** Tells webhooks the span that calls them. */
  readonly tracing?: Tracing | undefined
}

/**
 * Calls webhooks over HTTPS. Connections are kept open between calls. Each place has its own connections, so that a
 * slow webhook delays only its own callers. A Service is reached at its cluster IP. Source: apiserver
 * pkg/util/webhook/client.go.
 */
export function httpsCaller({ objects, clock, tracing }: HttpsCallerOptions): WebhookCaller {
  const agents = new Agents()

  return {
    async call(config, review, timeoutMs) {
      const url = webhookUrl(config, timeoutMs)
      const failed = (why: string) => failedPost(config, timeoutMs, why)
      const host = url.hostname.replace(/^\[|\]$/g, "")
      const target =
        config.service === undefined
          ? { host, port: url.port === "" ? 443 : Number(url.port) }
          : serviceAddress(config.service, objects)
      if (typeof target === "string") throw failed(target)
      const body = Buffer.from(JSON.stringify(review))
      const traceparent = tracing?.traceparent()
      const answered = await agents.use({ host: url.host, caBundle: config.caBundle ?? "" }, (agent) =>
        post(
          {
            ...target,
            // An IP address cannot stand in the server name of TLS; the certificate is checked against it all the same.
            ...(isIP(host) === 0 ? { servername: url.hostname } : {}),
            path: url.pathname + url.search,
            method: "POST",
            agent,
            headers: {
              host: url.host,
              "content-type": "application/json",
              accept: "application/json, */*",
              "content-length": body.length,
              ...(traceparent === undefined ? {} : { traceparent }),
            },
          },
          body,
          { clock, timeoutMs, failed, mostBytes: mostAnswerBytes(body.length) },
        ),
      )
      const { code } = answered
      if (code < 200 || code > 206) throw new WebhookCallError(meaningOf(code, answered), code)
      if (answered.answer === "")
        throw new WebhookCallError(`0-length response with status code: ${code} and content type: ${answered.type}`)
      return reviewIn(answered.answer)
    },
  }
}

/**
 * Parses a response. @throws WebhookCallError with Go's message when it is not an object; Go's YAML reader takes plain
 * text for a string
 */
function reviewIn(answer: string): unknown {
  let value: unknown = ""
  try {
    ;({ value } = parseJson(answer))
  } catch (err) {
    if (!(err instanceof BodyError)) throw err
  }
  if (isJsonObject(value)) return value
  const given = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value
  throw new WebhookCallError(
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${given} into Go value of type ` +
      'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
  )
}

interface Answered {
  readonly code: number
  readonly answer: string
  readonly type: string
}

interface Posting {
  /** The largest response that is read, in bytes. */
  readonly mostBytes: number
  readonly clock: Clock
  readonly timeoutMs: number
  failed(why: string): WebhookCallError
}

function post(
  options: RequestOptions & ServiceAddress,
  body: Buffer,
  { clock, timeoutMs, failed, mostBytes }: Posting,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const outgoing = request(options)
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
        resolve({
          code: incoming.statusCode ?? 0,
          answer: Buffer.concat(parts).toString(),
          type: incoming.headers["content-type"] ?? "text/plain",
        })
      })
    })
    outgoing.end(body)
  })
}

/**
 * Returns the error message for a response with a failure code. Source: apimachinery pkg/api/errors
 * NewGenericServerResponse; client-go rest/request.go transformResponse.
 */
const meaningOf = (code: number, { answer, type }: Answered): string =>
  messageOfStatus(answer) ??
  MEANINGS[code] ??
  (code >= 500
    ? `an error on the server (${JSON.stringify(type.startsWith("text/") ? answer.slice(0, 2048) : "unknown")}) has ` +
      "prevented the request from succeeding"
    : `the server responded with the status code ${code} but did not return more information`)

/** Returns the message of a response that is a Status with Failure; undefined for other responses. */
function messageOfStatus(answer: string): string | undefined {
  try {
    const { kind, apiVersion, status, message } = JSON.parse(answer) as Readonly<Record<string, unknown>>
    const isFailure = kind === "Status" && apiVersion === "v1" && status === "Failure"
    return isFailure && typeof message === "string" && message !== "" ? message : undefined
  } catch {
    return undefined
  }
}
const MEANINGS: Readonly<Record<number, string>> = {
  400: "the server rejected our request for an unknown reason",
  401: "the server has asked for the client to provide credentials",
  403: "the server does not allow access to the requested resource",
  404: "the server could not find the requested resource",
  405: "the server does not allow this method on the requested resource",
  409: "the server reported a conflict",
  422: "the server rejected our request due to an error in our request",
  429: "the server has received too many requests and has asked us to try again later",
  503: "the server is currently unable to handle the request",
  504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}
