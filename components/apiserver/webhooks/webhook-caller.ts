import type { WebhookClientConfig } from "../../../pkg/api/admissionregistration/v1/clientconfig.ts"
import type { Review } from "./review.ts"

/**
 * Asks webhooks: over HTTPS in a server, by a call of a function in a test cluster.
 */
export interface WebhookCaller {
  /**
   * Sends a review and gives the answer, parsed from JSON. `timeoutMs` is the time the webhook has.
   * @throws WebhookCallError where no answer came.
   */
  call(config: WebhookClientConfig, review: Review, timeoutMs: number): Promise<unknown>
}

/** Why a webhook gave no answer: a refused connection, a wrong certificate, an HTTP error, silence. */
export class WebhookCallError extends Error {
  /** The code by which metrics count the failure: that of the webhook's own answer, or 503. */
  readonly code: number
  constructor(message: string, code = 503) {
    super(message)
    this.code = code
  }
}

/** The URL of a webhook as upstream builds it, the time it has included; it appears in error messages. */
export function webhookUrl({ url, service }: WebhookClientConfig, timeoutMs: number): URL {
  const base =
    url ?? `https://${service!.name}.${service!.namespace}.svc:${service!.port}${withSlash(service!.path ?? "/")}`
  const whole = new URL(base)
  whole.searchParams.set("timeout", `${Math.ceil(timeoutMs / 1000)}s`)
  return whole
}

const withSlash = (path: string): string => (path.startsWith("/") ? path : `/${path}`)

/** As Go's HTTP client words a failed call; it keeps the port that stands in the URL. */
export function failedPost({ url, service }: WebhookClientConfig, timeoutMs: number, why: string): WebhookCallError {
  const { pathname, search, protocol, hostname, port } = webhookUrl({ url, service } as WebhookClientConfig, timeoutMs)
  const host = port !== "" ? `${hostname}:${port}` : service === undefined ? hostname : `${hostname}:443`
  return new WebhookCallError(`Post "${protocol}//${host}${pathname}${search}": ${why}`)
}
