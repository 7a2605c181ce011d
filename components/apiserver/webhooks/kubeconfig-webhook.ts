/**
 * Webhooks that a file in the form of a kubeconfig names: where audit events go, who decides about images, tokens and
 * requests. Source: apiserver pkg/util/webhook/webhook.go.
 */
import { Agent as HttpAgent } from "node:http"
import { Agent as HttpsAgent } from "node:https"
import { readFileSync } from "node:fs"
import { loadKubeconfig, type ClientConfig } from "../../../pkg/client/kubeconfig.ts"
import { sleep, type Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { trusting } from "../../../pkg/pki/trust.ts"
import { addressOf, exchange, serverName } from "./exchange.ts"
import { meaningOf } from "./failure-code.ts"

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
    this.#agent =
      this.#url.protocol === "https:"
        ? new HttpsAgent({
            ...kept,
            ...trusting(ca ?? ""),
            ...certificate,
            ...(insecureSkipTlsVerify === true ? { rejectUnauthorized: false } : {}),
            ...(tlsServerName === undefined ? serverName(this.#url.hostname) : { servername: tlsServerName }),
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

  async #once(body: string): Promise<string> {
    const url = this.#url
    const bytes = Buffer.from(body)
    const failed = (why: string) => new KubeconfigWebhookError(`Post ${JSON.stringify(url.href)}: ${why}`)
    const answered = await exchange(
      {
        ...addressOf(url),
        protocol: url.protocol,
        path: url.pathname + url.search,
        method: "POST",
        agent: this.#agent,
        headers: {
          "content-type": "application/json",
          "content-length": bytes.length,
          accept: "application/json, */*",
          ...this.#authorization(),
        },
      },
      bytes,
      { clock: this.#clock, timeoutMs: this.#timeoutMs, failed, mostBytes: MOST_ANSWER_BYTES },
    )
    const { code, answer, retryAfter } = answered
    if (code >= 200 && code <= 206) return answer
    const after = Number(retryAfter)
    throw new KubeconfigWebhookError(meaningOf(code, answered), code, Number.isNaN(after) ? undefined : after)
  }

  #authorization(): { readonly authorization?: string } {
    const { token, tokenFile } = this.#config
    const text = token ?? (tokenFile === undefined ? undefined : readFileSync(tokenFile, "utf8").trim())
    return text === undefined || text === "" ? {} : { authorization: `Bearer ${text}` }
  }
}
