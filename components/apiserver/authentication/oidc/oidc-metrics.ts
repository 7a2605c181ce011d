import { createHash } from "node:crypto"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { Registry } from "../../../../pkg/metrics/registry.ts"

const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/**
 * The metrics of tokens of OpenID providers, under upstream's names. Source: apiserver
 * plugin/pkg/authenticator/token/oidc/metrics.go. Differs from upstream: there is no label for the server.
 */
export class OidcMetrics {
  readonly #clock: Clock
  readonly #latency
  readonly #fetchedAt
  readonly #keySets
  readonly #keySetOf = new Map<string, string>()

  constructor(registry: Registry, clock: Clock) {
    this.#clock = clock
    const name = "apiserver_authentication_jwt_authenticator"
    this.#latency = registry.histogram(
      `${name}_latency_seconds`,
      "Seconds to authenticate a token that is not cached.",
      BUCKETS,
      ...["result", "jwt_issuer_hash"],
    )
    this.#fetchedAt = registry.gauge(
      `${name}_jwks_fetch_last_timestamp_seconds`,
      "When the keys of a provider were last asked for.",
      ...["result", "jwt_issuer_hash"],
    )
    this.#keySets = registry.gauge(
      `${name}_jwks_fetch_last_key_set_info`,
      "The hash of the keys of a provider.",
      ...["jwt_issuer_hash", "hash"],
    )
  }

  /** Milliseconds, for `authenticated`. */
  now(): number {
    return this.#clock.monotonic()
  }

  authenticated(issuer: string, result: "success" | "failure", began: number): void {
    this.#latency.with(result, hash(issuer)).observe((this.now() - began) / 1000)
  }

  /** @param keySet undefined where the provider gave none */
  keysFetched(issuer: string, keySet: string | undefined): void {
    const issuerHash = hash(issuer)
    this.#fetchedAt.with(keySet === undefined ? "failure" : "success", issuerHash).set(this.#clock.now() / 1000)
    if (keySet === undefined) return
    const before = this.#keySetOf.get(issuerHash)
    const now = hash(keySet)
    if (before === now) return
    if (before !== undefined) this.#keySets.remove(issuerHash, before)
    this.#keySetOf.set(issuerHash, now)
    this.#keySets.with(issuerHash, now).set(1)
  }

  /** Removes what is told of an issuer that is not in the configuration any more. */
  removed(issuer: string): void {
    const issuerHash = hash(issuer)
    for (const result of ["success", "failure"]) this.#fetchedAt.remove(result, issuerHash)
    const keySet = this.#keySetOf.get(issuerHash)
    if (keySet !== undefined) this.#keySets.remove(issuerHash, keySet)
    this.#keySetOf.delete(issuerHash)
  }
}

const hash = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`
