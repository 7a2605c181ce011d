import { posix } from "node:path"
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
 * The path is cleaned: `//a/../b/` becomes `/b`. Source: apiserver pkg/util/webhook/client.go; client-go rest/request.go.
 */
export function webhookUrl({ url, service }: WebhookClientConfig, timeoutMs: number): URL {
  const whole = new URL(url ?? `https://${service!.name}.${service!.namespace}.svc:${service!.port}`)
  whole.pathname = clean(url === undefined ? (service!.path ?? "") : decoded(whole.pathname))
  whole.search = `timeout=${Math.ceil(timeoutMs / 1000)}s`
  return whole
}

const decoded = (path: string): string => {
  try {
    return decodeURIComponent(path)
  } catch {
    // It has escapes that are no UTF-8.
    return path
  }
}

/** Cleans a path as Go's path.Join does, and encodes it as Go's net/url. */
const clean = (path: string): string =>
  posix
    .join("/", path)
    .replace(/(?<=.)\/$/, "")
    .split("/")
    .map(encodeSegment)
    .join("/")

const encodeSegment = (segment: string): string =>
  encodeURIComponent(segment)
    .replace(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

/** Returns the message of Go's HTTP client for a failed call, with the URL of the webhook including its port. */
export function failedPost({ url, service }: WebhookClientConfig, timeoutMs: number, why: string): WebhookCallError {
  const { pathname, search, protocol, hostname, port } = webhookUrl({ url, service } as WebhookClientConfig, timeoutMs)
  const host = port !== "" ? `${hostname}:${port}` : service === undefined ? hostname : `${hostname}:443`
  return new WebhookCallError(`Post "${protocol}//${host}${pathname}${search}": ${why}`)
}

/** Returns the message of Go's HTTP client for a redirect that failed. */
export const failedHop = (method: "POST" | "GET", url: string, why: string): WebhookCallError =>
  new WebhookCallError(`${method === "POST" ? "Post" : "Get"} ${JSON.stringify(url)}: ${why}`)
