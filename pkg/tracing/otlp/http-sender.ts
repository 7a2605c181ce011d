import { Agent as HttpAgent, request as httpRequest } from "node:http"
import { Agent as HttpsAgent, request as httpsRequest } from "node:https"
import { gzipSync } from "node:zlib"
import type { Clock } from "../../clock/clock.ts"
import { encodeJson } from "./json.ts"
import { ExportTraceServiceRequest, type ExportRequest } from "./messages.ts"
import { SendError, type Sender } from "./sender.ts"
import type { OtlpSettings } from "./settings.ts"
import { trusting } from "../../pki/trust.ts"
import { onUnwantedUpgrade } from "../../runtime/http/unwanted-upgrade.ts"

/** Codes after which the same request may succeed later. Source: OpenTelemetry protocol specification, Retryable Response Codes. */
const TEMPORARY: readonly number[] = [429, 502, 503, 504]

/** Sends spans by OTLP over HTTP. */
export function httpSender(settings: OtlpSettings, clock: Clock): Sender {
  const { protocol, endpoint, headers, gzip, timeoutMs, caPem } = settings
  const url = new URL(endpoint)
  const isTls = url.protocol === "https:"
  const agent = isTls
    ? new HttpsAgent({ keepAlive: true, maxSockets: 1, ...trusting(caPem) })
    : new HttpAgent({ keepAlive: true, maxSockets: 1 })
  const isJson = protocol === "http/json"

  const post = (body: Uint8Array | string) =>
    new Promise<number>((resolve, reject) => {
      const outgoing = (isTls ? httpsRequest : httpRequest)(url, {
        method: "POST",
        agent,
        headers: {
          ...headers,
          "content-type": isJson ? "application/json" : "application/x-protobuf",
          "content-length": Buffer.byteLength(body),
          ...(gzip ? { "content-encoding": "gzip" } : {}),
        },
      })
      const timer = clock.setTimeout(() => outgoing.destroy(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs)
      const failed = (err: Error) => {
        timer.cancel()
        reject(new SendError(err.message, true))
      }
      // The listener stays, since a failed connection can emit another error.
      outgoing.on("error", failed)
      onUnwantedUpgrade(outgoing, failed)
      outgoing.once("response", (incoming) => {
        incoming.on("error", failed)
        incoming.once("end", () => {
          timer.cancel()
          resolve(incoming.statusCode ?? 0)
        })
        // The response may name spans that were refused. Sending them again would not help.
        incoming.resume()
      })
      outgoing.end(body)
    })

  return {
    async send(request: ExportRequest) {
      const body = isJson ? encodeJson(request) : ExportTraceServiceRequest.encode(request)
      const code = await post(gzip ? gzipSync(body) : body)
      if (code < 200 || code > 299) throw new SendError(`the collector answered ${code}`, TEMPORARY.includes(code))
    },
    close: () => agent.destroy(),
  }
}
