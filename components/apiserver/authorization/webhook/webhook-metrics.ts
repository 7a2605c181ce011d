import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { Registry } from "../../../../pkg/metrics/registry.ts"

const BUCKETS = [0.005, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30]

/**
 * The metrics of webhooks that authorize, under upstream's names. Sources: apiserver
 * plugin/pkg/authorizer/webhook/metrics, pkg/authorization/cel/metrics.go.
 */
export class AuthorizationWebhookMetrics {
  readonly #clock: Clock
  readonly #evaluations
  readonly #durations
  readonly #failOpen
  readonly #conditions
  readonly #conditionErrors
  readonly #exclusions

  constructor(registry: Registry, clock: Clock) {
    this.#clock = clock
    const webhook = "apiserver_authorization_webhook"
    const conditions = "apiserver_authorization_match_condition"
    this.#evaluations = registry.counter(`${webhook}_evaluations_total`, "Calls of a webhook.", "name", "result")
    this.#durations = registry.histogram(
      `${webhook}_duration_seconds`,
      "Seconds of calls of a webhook.",
      BUCKETS,
      ...["name", "result"],
    )
    this.#failOpen = registry.counter(
      `${webhook}_evaluations_fail_open_total`,
      "Requests about which a webhook gave no answer, and others decided.",
      ...["name", "result"],
    )
    const labels = ["type", "name"]
    this.#conditions = registry.histogram(
      `${conditions}_evaluation_seconds`,
      "Seconds to evaluate the conditions of a webhook.",
      [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25],
      ...labels,
    )
    this.#conditionErrors = registry.counter(
      `${conditions}_evaluation_errors_total`,
      "Requests about which the conditions of a webhook could not be evaluated.",
      ...labels,
    )
    this.#exclusions = registry.counter(
      `${conditions}_exclusions_total`,
      "Requests about which a webhook was not asked because of its conditions.",
      ...labels,
    )
  }

  /** Milliseconds, for the others. */
  now(): number {
    return this.#clock.monotonic()
  }

  called(name: string, result: "success" | "timeout" | "error", began: number): void {
    this.#evaluations.with(name, result).inc()
    this.#durations.with(name, result).observe((this.now() - began) / 1000)
  }

  failedOpen(name: string, result: "timeout" | "error"): void {
    this.#failOpen.with(name, result).inc()
  }

  evaluated(name: string, outcome: "matches" | "excluded" | "error", began: number): void {
    this.#conditions.with("Webhook", name).observe((this.now() - began) / 1000)
    if (outcome === "error") this.#conditionErrors.with("Webhook", name).inc()
    if (outcome === "excluded") this.#exclusions.with("Webhook", name).inc()
  }
}
