import type { WebhookClientConfig } from "../../../pkg/api/admissionregistration/v1/clientconfig.ts"
import type { Review } from "./review.ts"

/** Calls webhooks: over HTTPS in a server, by a function call in a test cluster. */
export interface WebhookCaller {
  /**
   * Sends a review and returns the response, parsed from JSON. The call fails after `timeoutMs`.
   * @throws WebhookCallError when there is no usable response
   */
  call(config: WebhookClientConfig, review: Review, timeoutMs: number): Promise<unknown>
}

/** Why a call of a webhook failed: a refused connection, a wrong certificate, an HTTP error, a timeout. */
export class WebhookCallError extends Error {
  /** The HTTP code in metrics of the failure: that of the webhook's response, or 503. */
  readonly code: number
  constructor(message: string, code = 503) {
    super(message)
    this.code = code
  }
}

/**
 * Returns the URL of a webhook as upstream builds it, with the timeout as a parameter; it appears in error messages.
 */
export function webhookUrl({ url, service }: WebhookClientConfig, timeoutMs: number): URL {
  const base =
    url ?? `https://${service!.name}.${service!.namespace}.svc:${service!.port}${withSlash(service!.path ?? "/")}`
  const whole = new URL(base)
  whole.searchParams.set("timeout", `${Math.ceil(timeoutMs / 1000)}s`)
  return whole
}

const withSlash = (path: string): string => (path.startsWith("/") ? path : `/${path}`)

/** Returns the message of Go's HTTP client for a failed call, with the URL of the webhook including its port. */
export function failedPost({ url, service }: WebhookClientConfig, timeoutMs: number, why: string): WebhookCallError {
  const { pathname, search, protocol, hostname, port } = webhookUrl({ url, service } as WebhookClientConfig, timeoutMs)
  const host = port !== "" ? `${hostname}:${port}` : service === undefined ? hostname : `${hostname}:443`
  return new WebhookCallError(`Post "${protocol}//${host}${pathname}${search}": ${why}`)
}
