/**
 * Webhooks that a file in the form of a kubeconfig names: where audit events go, who decides about images, tokens and
 * requests. Source: apiserver pkg/util/webhook/webhook.go.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http"
import { Agent as HttpsAgent, request as httpsRequest } from "node:https"
import { readFileSync } from "node:fs"
import { isIP } from "node:net"
import { loadKubeconfig, type ClientConfig } from "../../../pkg/client/kubeconfig.ts"
import { sleep, type Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { trusting } from "../../../pkg/pki/trust.ts"
import { connectionFailure } from "../proxy/connection-failure.ts"

/** Source: webhook.go defaultRequestTimeout. */
const TIMEOUT_MS = 30_000
/** Answers are short: no webhook has more to say, in bytes. */
const MOST_ANSWER_BYTES = 3 * 1024 * 1024
/** Most connections to one webhook. */
const MOST_SOCKETS = 64

/** Why a webhook gave no usable answer. */
export class KubeconfigWebhookError extends Error {
  /** The HTTP code of the answer; undefined where there was none. */
  readonly code: number | undefined
  /** How long the webhook asks to wait, in seconds; undefined where it does not ask. */
  readonly retryAfter: number | undefined
  constructor(message: string, code?: number, retryAfter?: number) {
    super(message)
    this.code = code
    this.retryAfter = retryAfter
  }
}

/** How often, and after which times, a failed call is made again. Source: apimachinery wait.Backoff. */
export interface WebhookBackoff {
  readonly initialMs: number
  /** All calls together, with the first one. */
  readonly attempts: number
  /** Which failures are tried again. */
  isWorthIt(error: KubeconfigWebhookError): boolean
}

/** Source: webhook.go DefaultShouldRetry. */
export const isTransient = ({ code, retryAfter, message }: KubeconfigWebhookError): boolean =>
  code === undefined
    ? /: EOF$|connection reset/.test(message)
    : code === 500 || code === 504 || code === 429 || retryAfter !== undefined

/** Each wait is longer than the one before by this factor, and by up to a fifth more by chance. */
const FACTOR = 1.5
const JITTER = 0.2

/**
 * Reads the file that names a webhook.
 * @throws Error that names the flag, or the field, and the file
 */
export function readWebhookKubeconfig(file: string, flag: string): ClientConfig {
  try {
    const config = loadKubeconfig(file)
    if (!/^https?:$/.test(URL.parse(config.server)?.protocol ?? ""))
      throw new Error(`clusters[].cluster.server: ${JSON.stringify(config.server)} must be a URL with https`)
    return config
  } catch (err) {
    throw new Error(`${flag} ${file}: ${errorMessage(err)}`, { cause: err })
  }
}

interface WebhookParts {
  readonly clock: Clock
  readonly random: Random
  /** Longest time of one call, in milliseconds; 30 s unless given. */
  readonly timeoutMs?: number
}

/** Calls one webhook by POST. Connections are kept open between calls. */
export class KubeconfigWebhook {
  readonly #config: ClientConfig
  readonly #url: URL
  readonly #agent: HttpAgent
  readonly #clock: Clock
  readonly #random: Random
  readonly #timeoutMs: number

  constructor(config: ClientConfig, { clock, random, timeoutMs = TIMEOUT_MS }: WebhookParts) {
    this.#timeoutMs = timeoutMs
    this.#config = config
    this.#url = new URL(config.server)
    this.#clock = clock
    this.#random = random
    const kept = { keepAlive: true, maxSockets: MOST_SOCKETS }
    const { ca, certificate, insecureSkipTlsVerify, tlsServerName } = config
    const { hostname } = this.#url
    const name = tlsServerName ?? (isIP(hostname.replace(/^\[|\]$/g, "")) === 0 ? hostname : undefined)
    this.#agent =
      this.#url.protocol === "https:"
        ? new HttpsAgent({
            ...kept,
            ...trusting(ca ?? ""),
            ...certificate,
            ...(insecureSkipTlsVerify === true ? { rejectUnauthorized: false } : {}),
            ...(name === undefined ? {} : { servername: name }),
          })
        : new HttpAgent(kept)
  }

  /**
   * Sends a text of JSON, and resolves to the text of the answer. A failed call is made again as `backoff` says, until
   * `signal` aborts.
   * @throws KubeconfigWebhookError of the last call
   */
  async post(body: string, backoff?: WebhookBackoff, signal?: AbortSignal): Promise<string> {
    let waitMs = backoff?.initialMs ?? 0
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(body)
      } catch (err) {
        const error = err instanceof KubeconfigWebhookError ? err : new KubeconfigWebhookError(errorMessage(err))
        const isLast = backoff === undefined || attempt >= backoff.attempts || signal?.aborted === true
        if (isLast || !backoff.isWorthIt(error)) throw error
        await sleep(this.#clock, waitMs * (1 + JITTER * this.#random.next()), signal).catch(() => undefined)
        waitMs *= FACTOR
      }
    }
  }

  /** Closes the connections. */
  close(): void {
    this.#agent.destroy()
  }

  #once(body: string): Promise<string> {
    const url = this.#url
    const bytes = Buffer.from(body)
    const failed = (why: string) => new KubeconfigWebhookError(`Post ${JSON.stringify(url.href)}: ${why}`)
    return new Promise((resolve, reject) => {
      const outgoing = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
        method: "POST",
        agent: this.#agent,
        headers: {
          "content-type": "application/json",
          "content-length": bytes.length,
          accept: "application/json, */*",
          ...this.#authorization(),
        },
      })
      const timer = this.#clock.setTimeout(() => end(failed("context deadline exceeded")), this.#timeoutMs)
      const end = (err: Error) => {
        timer.cancel()
        reject(err)
        outgoing.destroy()
      }
      const host = url.hostname.replace(/^\[|\]$/g, "")
      const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port)
      // The listener stays after the first error, since a failed connection can emit another one.
      outgoing.on("error", (err: NodeJS.ErrnoException) => end(failed(connectionFailure(err, { host, port }))))
      outgoing.once("response", (incoming: IncomingMessage) => {
        const parts: Buffer[] = []
        let size = 0
        incoming.on("data", (part: Buffer) => {
          parts.push(part)
          if ((size += part.length) > MOST_ANSWER_BYTES) end(failed("the answer is too large"))
        })
        incoming.on("error", (err) => end(failed(err.message)))
        incoming.once("end", () => {
          timer.cancel()
          const code = incoming.statusCode ?? 0
          const text = Buffer.concat(parts).toString()
          if (code >= 200 && code <= 206) return resolve(text)
          const after = Number(incoming.headers["retry-after"])
          reject(new KubeconfigWebhookError(meaningOf(code, text), code, Number.isNaN(after) ? undefined : after))
        })
      })
      outgoing.end(bytes)
    })
  }

  #authorization(): { readonly authorization?: string } {
    const { token, tokenFile } = this.#config
    const text = token ?? (tokenFile === undefined ? undefined : readFileSync(tokenFile, "utf8").trim())
    return text === undefined || text === "" ? {} : { authorization: `Bearer ${text}` }
  }
}

const meaningOf = (code: number, text: string): string =>
  code === 401
    ? "the server has asked for the client to provide credentials"
    : code >= 500
      ? `an error on the server (${JSON.stringify(text.slice(0, 2048))}) has prevented the request from succeeding`
      : `the server responded with the status code ${code} but did not return more information`
