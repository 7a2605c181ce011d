import type { Clock, Timer } from "../../../../pkg/clock/clock.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { isObject, type Json } from "../../../../pkg/jwt/jws.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import { getJson } from "../../webhooks/get-json.ts"
import type { OidcMetrics } from "./oidc-metrics.ts"
import { keysIn, type ProviderKey } from "./signature.ts"

export interface ProviderOptions {
  /** The issuer's URL. */
  readonly issuer: string
  /** Where its OpenID configuration is; below the URL unless given. */
  readonly discoveryUrl?: string | undefined
  /** The authorities of its certificate as PEM; those of the system unless given. */
  readonly caPem?: string | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: OidcMetrics | undefined
}

/** How often a provider is asked that could not be reached, in milliseconds. Source: oidc.go New. */
const RETRY_MS = 10_000
/** Longest time of one request to a provider. Differs from upstream: 30 s. */
const TIMEOUT_MS = 10_000
/** A document of a provider that is larger is refused. */
const MOST_BYTES = 1024 * 1024
/** Keys are asked for at most once in this time: anybody can send tokens whose key is unknown. */
const LEAST_INTERVAL_MS = 1000
/**
 * Keys of this age are asked for again at the next token. Differs from upstream, where a key that the provider has
 * withdrawn counts until a token has a key that is unknown.
 */
const STALE_MS = 5 * 60_000
/** At most as many requests wait for the keys of a provider; the next is refused at once. */
const MOST_WAITING = 500

/**
 * The keys of one OpenID provider. They are found by its OpenID configuration, which is asked for until it answers, and
 * are in memory from then on: no request waits for a provider, unless it has a token whose key is unknown. Source:
 * go-oidc oidc.go NewProvider, jwks.go RemoteKeySet.
 */
export class Provider {
  readonly #options: ProviderOptions
  #keysUrl: string | undefined
  #keys: readonly ProviderKey[] = []
  /** The text of the keys, to find out whether they have changed. */
  #text = ""
  #askedAt = -Infinity
  #asking: Promise<void> | undefined
  #waiting = 0
  #problem: string | undefined
  #retry: Timer | undefined
  #stopped = false
  /** Counts the sets of keys: what was found out with an earlier one must be found out again. */
  generation = 0

  constructor(options: ProviderOptions) {
    this.#options = options
    this.#problem = `oidc: authenticator for issuer ${JSON.stringify(options.issuer)} is not initialized`
  }

  /** Why the provider cannot be used yet; undefined where it can. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Asks the provider until it has answered once. Resolves after the first answer or failure. */
  async start(): Promise<void> {
    const { issuer, log, clock } = this.#options
    try {
      this.#keysUrl = await this.#discovered()
      this.#problem = undefined
      if (!this.#stopped) log.info("Found an OpenID provider", { issuer })
    } catch (error) {
      if (this.#stopped) return
      this.#problem = `oidc: authenticator for issuer ${JSON.stringify(issuer)} is not initialized: ${errorMessage(error)}`
      log.error("Failed to reach an OpenID provider; its tokens are refused until it answers", { issuer, error })
      this.#retry = clock.setTimeout(() => void this.start(), RETRY_MS)
      return
    }
    await this.#refresh().catch(() => undefined)
  }

  stop(): void {
    this.#stopped = true
    this.#retry?.cancel()
  }

  /** The keys that are known now. Old ones are asked for again in the background. */
  get keys(): readonly ProviderKey[] {
    const age = this.#options.clock.monotonic() - this.#askedAt
    if (age >= STALE_MS && this.#asking === undefined && this.#keysUrl !== undefined)
      this.#refresh().catch(() => undefined)
    return this.#keys
  }

  /** Returns the keys after they were asked for once more. @throws Error when that failed */
  async freshKeys(): Promise<readonly ProviderKey[]> {
    if (this.#waiting >= MOST_WAITING) throw new Error("too many requests wait for the keys of the provider")
    this.#waiting++
    try {
      await this.#refresh()
    } finally {
      this.#waiting--
    }
    return this.#keys
  }

  /** Source: OpenID Connect Discovery 1.0, section 4. */
  async #discovered(): Promise<string> {
    const { issuer, discoveryUrl } = this.#options
    const url = discoveryUrl ?? `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`
    const document = (await this.#get(url)) as Json
    const { issuer: named, jwks_uri: keysUrl } = isObject(document) ? document : {}
    if (named !== issuer)
      throw new Error(
        `oidc: issuer URL provided to client (${JSON.stringify(issuer)}) did not match the issuer URL returned by ` +
          `provider (${JSON.stringify(named ?? "")})`,
      )
    if (typeof keysUrl !== "string" || keysUrl === "") throw new Error("provider did not return JWKS URL")
    if (!URL.canParse(keysUrl)) throw new Error(`jwks_uri ${JSON.stringify(keysUrl)} of the provider is no URL`)
    return keysUrl
  }

  #refresh(): Promise<void> {
    // Never rejected unhandled: each caller handles it.
    return (this.#asking ??= this.#ask().finally(() => (this.#asking = undefined)))
  }

  async #ask(): Promise<void> {
    const { clock, log, issuer, metrics } = this.#options
    const wait = this.#askedAt + LEAST_INTERVAL_MS - clock.monotonic()
    if (wait > 0) await new Promise<void>((resolve) => clock.setTimeout(resolve, wait))
    try {
      const document = (await this.#get(this.#keysUrl!)) as Json
      const keys = keysIn(document)
      const text = JSON.stringify(document)
      if (text !== this.#text) {
        this.#text = text
        this.#keys = keys
        this.generation++
      }
      metrics?.keysFetched(issuer, text)
    } catch (error) {
      metrics?.keysFetched(issuer, undefined)
      if (!this.#stopped)
        log.warn("Failed to get the keys of an OpenID provider; the ones known before count", { issuer, error })
      throw error
    } finally {
      this.#askedAt = clock.monotonic()
    }
  }

  #get(url: string): Promise<unknown> {
    const { caPem, clock } = this.#options
    return getJson(url, { caPem, clock, timeoutMs: TIMEOUT_MS, mostBytes: MOST_BYTES })
  }
}
