import type { Agent } from "node:https"
import { sleep, type Clock } from "../../../pkg/clock/clock.ts"
import type { Tracing } from "../../../pkg/tracing/tracing.ts"
import type { Objects } from "../cacher/objects.ts"
import { serviceAddress } from "../proxy/service-address.ts"
import { isJsonObject } from "../../../pkg/apimachinery/json/json-value.ts"
import { BodyError } from "../codec/body-error.ts"
import { parseJson } from "../codec/json.ts"
import { parseYaml } from "../codec/yaml.ts"
import { trustingBundle } from "../../../pkg/pki/trust.ts"
import { Agents } from "./agents.ts"
import { addressOf, exchange, serverName, type Answered } from "./exchange.ts"
import { meaningOf } from "./failure-code.ts"
import type { CredentialsFor } from "./webhook-credentials.ts"
import { MOST_REDIRECTS, redirectOf, type Hop } from "./redirect.ts"
import { failedHop, failedPost, WebhookCallError, webhookUrl, type WebhookCaller } from "./webhook-caller.ts"

/** The response limit for small requests, as upstream's client has it. */
const LEAST_BOUND_BYTES = 3 * 1024 * 1024
/** How this server introduces itself. Source: apiserver pkg/util/webhook/authentication.go setGlobalDefaults. */
const USER_AGENT = "kube-apiserver-admission"
/** How often a call is repeated that gets a response with Retry-After. Source: client-go rest/request.go. */
const MOST_RETRIES = 10
/** Converted objects may be larger than the objects sent, so the limit grows with the request. */
const mostAnswerBytes = (sent: number): number => Math.max(LEAST_BOUND_BYTES, sent * 4)

export interface HttpsCallerOptions {
  readonly objects: Objects
  readonly clock: Clock
  /** Tells webhooks the span that calls them. */
  readonly tracing?: Tracing | undefined
  /** Returns how a host recognizes this server; none unless given. */
  readonly credentials?: CredentialsFor | undefined
}

/**
 * Calls webhooks over HTTPS. Connections are kept open between calls. Each place has its own connections, so that a
 * slow webhook delays only its own callers. A Service is reached at its cluster IP. Redirects are followed, with the
 * same trust and the same time limit. A webhook that answers with 429 or 5xx and asks by Retry-After to wait is called
 * again, within the time limit. Source: apiserver pkg/util/webhook/client.go; client-go rest/with_retry.go.
 */
export function httpsCaller({ objects, clock, tracing, credentials }: HttpsCallerOptions): WebhookCaller {
  const agents = new Agents()

  return {
    async call(config, review, timeoutMs) {
      const first: Hop = { url: webhookUrl(config, timeoutMs), method: "POST" }
      const { service, caBundle = "" } = config
      const body = Buffer.from(JSON.stringify(review))
      const traceparent = tracing?.traceparent()
      const until = clock.monotonic() + timeoutMs
      const { authorization, certificate } = credentials?.(first.url.host) ?? {}

      const send = (hop: Hop, agent: Agent) => {
        const { url, method } = hop
        const failed = (why: string) =>
          hop === first ? failedPost(config, timeoutMs, why) : failedHop(method, url.href, why)
        const target =
          service !== undefined && url.origin === first.url.origin ? serviceAddress(service, objects) : addressOf(url)
        if (typeof target === "string") throw failed(target)
        const content = method === "POST" ? body : undefined
        return exchange(
          {
            ...target,
            protocol: url.protocol,
            // The certificate of an IP address is checked against it all the same.
            ...serverName((service === undefined ? url : first.url).hostname),
            path: url.pathname + url.search,
            method,
            // A connection elsewhere is closed after its answer: the webhook chooses how many places it redirects to.
            ...(url.origin === first.url.origin ? { agent } : { agent: false, ...trustingBundle(caBundle) }),
            headers: {
              host: url.host,
              accept: "application/json, */*",
              "accept-encoding": "gzip",
              "user-agent": USER_AGENT,
              ...(content === undefined
                ? {}
                : { "content-type": "application/json", "content-length": content.length }),
              ...(traceparent === undefined ? {} : { traceparent }),
              ...(authorization === undefined || url.origin !== first.url.origin ? {} : { authorization }),
            },
          },
          content,
          { clock, timeoutMs: until - clock.monotonic(), failed, mostBytes: mostAnswerBytes(body.length) },
        )
      }

      const place = { host: first.url.host, caBundle, certificate }
      const attempt = () =>
        agents.use(place, async (agent) => {
          let hop = first
          for (let redirects = 0; ; redirects++) {
            const answer = await send(hop, agent)
            const next = nextHop(answer, hop)
            if (next === undefined) return answer
            if (redirects === MOST_REDIRECTS)
              throw failedHop(hop.method, answer.location ?? "", `stopped after ${MOST_REDIRECTS} redirects`)
            hop = next
          }
        })
      let answered = await attempt()
      for (let retries = 0; retries < MOST_RETRIES; retries++) {
        const waitMs = retryAfter(answered)
        if (waitMs === undefined) break
        const left = until - clock.monotonic()
        if (waitMs > 0) await sleep(clock, Math.max(0, Math.min(waitMs, left)))
        if (waitMs >= left) throw failedPost(config, timeoutMs, "context deadline exceeded")
        answered = await attempt()
      }
      const { code } = answered
      if (code < 200 || code > 206) throw new WebhookCallError(meaningOf(code, answered), code)
      if (answered.answer === "")
        throw new WebhookCallError(`0-length response with status code: ${code} and content type: ${answered.type}`)
      return reviewIn(answered.answer)
    },
  }
}

/** Returns for how many milliseconds a webhook asks to wait; undefined when the call is not repeated. */
function retryAfter({ code, retryAfter: text = "" }: Answered): number | undefined {
  return (code === 429 || code >= 500) && /^[+-]?\d+$/.test(text) ? Number(text) * 1000 : undefined
}

/** Returns where a response sends the call; undefined when it is the answer. @throws WebhookCallError */
function nextHop({ code, location }: Answered, hop: Hop): Hop | undefined {
  try {
    return redirectOf(code, location, hop)
  } catch (err) {
    throw failedHop(hop.method, location ?? "", (err as Error).message)
  }
}

/**
 * Parses a response, which may be JSON or YAML whatever its content type says, as for Go's universal deserializer.
 * @throws WebhookCallError with Go's message when it is not an object
 */
function reviewIn(answer: string): unknown {
  const value = valueIn(answer)
  if (isJsonObject(value)) return value
  const given = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value
  throw new WebhookCallError(
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${given} into Go value of type ` +
      'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
  )
}

function valueIn(answer: string): unknown {
  try {
    // Only what does not begin like an object of JSON may be YAML. Source: apimachinery serializer/recognizer.
    return /^[ \t\r\n]*\{/.test(answer) ? parseJson(answer).value : parseYaml(Buffer.from(answer)).value
  } catch (err) {
    if (!(err instanceof BodyError)) throw err
    throw new WebhookCallError(`couldn't get version/kind; json parse error: ${err.message}`)
  }
}
