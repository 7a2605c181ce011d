import { sleep, type Clock } from "../../../../pkg/clock/clock.ts"
import { RecentByText } from "../../../../pkg/cache/recent-by-text.ts"
import { parseCompact, type JsonObject } from "../../../../pkg/jwt/jws.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import { whenReady } from "../../call/maybe-promise.ts"
import type { TokenAuthenticator, TokenRefused, TokenUser } from "../authenticator.ts"
import type { JWTAuthenticator } from "../configuration/fields.ts"
import { IdTokens } from "./id-tokens.ts"
import type { OidcMetrics } from "./oidc-metrics.ts"
import { Provider } from "./provider.ts"
import type { SigningAlgorithm } from "../sign-in-config.ts"

export interface ProvidersOptions {
  /** The algorithms that tokens may be signed with; all that there are unless given. */
  readonly algorithms?: readonly SigningAlgorithm[] | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: OidcMetrics | undefined
}

/** Longer tokens are refused before they are parsed, in characters. */
const LONGEST = 64 * 1024
/** Of how many tokens the users are cached. Whether a token has expired is checked at each request. */
const REMEMBERED = { entries: 8192, characters: 8 * 1024 * 1024 }
/** How long providers of a new configuration may take to answer. Source: UpdateAuthenticationConfigTimeout. */
const UPDATE_MS = 60_000
const UPDATE_INTERVAL_MS = 250

/** Refusals are logged at most once in this time, in milliseconds. */
const LEAST_TELL_MS = 1000

interface Known {
  readonly verdict: TokenUser
  /** When the token is valid. */
  readonly times: JsonObject
  readonly by: IdTokens
  /** Of the provider's keys. */
  readonly generation: number
}

/** Authenticates the ID tokens of all providers of a configuration, which may be replaced by another one. */
export class Providers implements TokenAuthenticator {
  readonly #options: ProvidersOptions
  #issuers: readonly IdTokens[] = []
  readonly #remembered = new RecentByText<Known>({
    ...REMEMBERED,
    weightOf: ({ verdict }) => JSON.stringify(verdict).length,
  })
  #stopped = false
  #toldAt = -Infinity

  constructor(options: ProvidersOptions) {
    this.#options = options
  }

  /** Uses a valid configuration from now on, whether its providers answer or not. */
  start(authenticators: readonly JWTAuthenticator[]): void {
    this.#issuers = this.#made(authenticators)
    for (const { provider } of this.#issuers) void provider.start()
  }

  /** Uses a valid configuration as soon as all its providers have answered. @throws Error where one does not */
  async replace(authenticators: readonly JWTAuthenticator[]): Promise<void> {
    const { clock, metrics } = this.#options
    const made = this.#made(authenticators)
    const end = clock.monotonic() + UPDATE_MS
    for (const { provider } of made) void provider.start()
    for (;;) {
      const problem = made.map(({ provider }) => provider.problem).find((one) => one !== undefined)
      if (problem === undefined) break
      if (this.#stopped || clock.monotonic() >= end) {
        for (const { provider } of made) provider.stop()
        throw new Error(problem)
      }
      await sleep(clock, UPDATE_INTERVAL_MS)
    }
    const before = this.#issuers
    this.#issuers = made
    this.#remembered.clear()
    for (const { provider } of before) provider.stop()
    for (const { issuer } of before) if (!made.some((one) => one.issuer === issuer)) metrics?.removed(issuer)
  }

  stop(): void {
    this.#stopped = true
    for (const { provider } of this.#issuers) provider.stop()
  }

  authenticate(token: string): ReturnType<TokenAuthenticator["authenticate"]> {
    const known = this.#remembered.get(token)
    if (known !== undefined) {
      const { by, times, generation, verdict } = known
      // Reading the keys has old ones fetched again: a key that the provider has withdrawn does not count for ever.
      if (by.provider.keys.length > 0 && generation === by.provider.generation) {
        const error = by.problemOf(times)
        return error === undefined ? verdict : { error }
      }
    }
    if (this.#issuers.length === 0 || token.length > LONGEST) return undefined
    const parsed = parseCompact(token)
    const by = parsed && this.#issuers.find((one) => one.isOf(parsed.payload))
    if (parsed === undefined || by === undefined) return undefined
    return whenReady(by.verdictOf(parsed), (verdict: TokenUser | TokenRefused) => {
      if ("error" in verdict) this.#tell(by, verdict)
      else if (this.#issuers.includes(by)) this.#remember(token, verdict, parsed.payload, by)
      return verdict
    })
  }

  /** Says why a token is refused, which its client is not told. Not each time: anybody can send any number. */
  #tell({ issuer }: IdTokens, { error }: TokenRefused): void {
    const { clock, log } = this.#options
    if (clock.monotonic() < this.#toldAt + LEAST_TELL_MS) return
    this.#toldAt = clock.monotonic()
    log.warn("Refused an ID token", { issuer, error })
  }

  #remember(token: string, verdict: TokenUser, { exp = null, nbf = null }: JsonObject, by: IdTokens): void {
    this.#remembered.set(token, { verdict, times: { exp, nbf }, by, generation: by.provider.generation })
  }

  #made(authenticators: readonly JWTAuthenticator[]): readonly IdTokens[] {
    const { algorithms, clock, log, metrics } = this.#options
    return authenticators.map((authenticator) => {
      const { url: issuer, discoveryURL = "", certificateAuthority } = authenticator.issuer
      const provider = new Provider({
        issuer,
        discoveryUrl: discoveryURL === "" ? undefined : discoveryURL,
        caPem: certificateAuthority,
        clock,
        log,
        metrics,
      })
      return new IdTokens({ authenticator, provider, algorithms, clock, metrics })
    })
  }
}
