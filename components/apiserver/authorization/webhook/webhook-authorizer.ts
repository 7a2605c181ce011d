import type { Clock } from "../../../../pkg/clock/clock.ts"
import { RecentByText } from "../../../../pkg/cache/recent-by-text.ts"
import { FairShare } from "../../../../pkg/flow/fair-share.ts"
import { parseDuration } from "../../../../pkg/apimachinery/scalars/time.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import type { MaybePromise } from "../../call/maybe-promise.ts"
import type { AuthorizationDecision, NonResourceRequest, ResourceAttributes } from "../../call/request.ts"
import type { KubeconfigWebhook } from "../../webhooks/kubeconfig-webhook.ts"
import { booleanIn, reviewed, textIn } from "../../webhooks/review-webhook.ts"
import type { Authorizer } from "../authorizer.ts"
import type { WebhookConfiguration } from "../configuration/fields.ts"
import { accessReviewSpec, type AccessReviewSpec } from "./access-review.ts"
import { matcherOf } from "./match.ts"
import type { AuthorizationWebhookMetrics } from "./webhook-metrics.ts"

export interface WebhookAuthorizerOptions {
  readonly name: string
  readonly webhook: Pick<KubeconfigWebhook, "post">
  /** A valid one. */
  readonly configuration: WebhookConfiguration
  readonly metrics: AuthorizationWebhookMetrics
  readonly clock: Clock
  readonly log: Logger
}

/** Answers that are kept, of questions up to this many characters. Source: webhook.go. */
const KEPT = { entries: 16_384, characters: 16 * 1024 * 1024 }
const LONGEST_KEPT = 10_000
/** At most as many calls wait for the webhook, which users share; the next has no answer at once. */
const MOST_WAITING = 1000
/** A call that fails is logged at most once in this time, in milliseconds. */
const LEAST_TELL_MS = 1000

/**
 * Has a webhook decide: it is sent a SubjectAccessReview, and its answer is kept for a while. Equal questions wait for
 * one answer. Source: apiserver plugin/pkg/authorizer/webhook/webhook.go.
 */
export class WebhookAuthorizer implements Authorizer {
  readonly #options: WebhookAuthorizerOptions
  readonly #matches: (spec: AccessReviewSpec) => boolean
  readonly #allowedMs: number
  readonly #refusedMs: number
  readonly #answers = new RecentByText<Answer>({ ...KEPT, weightOf: ({ decision }) => decision.reason.length })
  readonly #asking = new Map<string, Promise<AuthorizationDecision>>()
  readonly #waiting = new FairShare(MOST_WAITING)
  #toldAt = -Infinity

  constructor(options: WebhookAuthorizerOptions) {
    const { configuration } = options
    this.#options = options
    this.#matches = matcherOf(configuration)
    this.#allowedMs = configuration.cacheAuthorizedRequests ? parseDuration(configuration.authorizedTTL)! : 0
    this.#refusedMs = configuration.cacheUnauthorizedRequests ? parseDuration(configuration.unauthorizedTTL)! : 0
  }

  authorize(request: ResourceAttributes | NonResourceRequest): MaybePromise<AuthorizationDecision> {
    const { clock, name, metrics, configuration } = this.#options
    const spec = accessReviewSpec(request)
    if ((configuration.matchConditions ?? []).length > 0) {
      const began = metrics.now()
      try {
        const matches = this.#matches(spec)
        metrics.evaluated(name, matches ? "matches" : "excluded", began)
        if (!matches) return NO_OPINION
      } catch (err) {
        metrics.evaluated(name, "error", began)
        return this.#failed(err as Error)
      }
    }
    const key = JSON.stringify(spec)
    const known = this.#answers.get(key)
    if (known !== undefined && clock.monotonic() < known.until) return known.decision
    const underWay = this.#asking.get(key)
    if (underWay !== undefined) return underWay
    const { user } = spec
    if (!this.#waiting.take(user)) return this.#failed(new Error(`too many requests wait for the webhook ${name}`))
    const asked = this.#ask(spec, key).finally(() => {
      this.#asking.delete(key)
      this.#waiting.giveBack(user)
    })
    this.#asking.set(key, asked)
    return asked
  }

  /** Never rejects. */
  async #ask(spec: AccessReviewSpec, key: string): Promise<AuthorizationDecision> {
    const { webhook, name, configuration, metrics, clock, log } = this.#options
    const began = metrics.now()
    try {
      const version = configuration.subjectAccessReviewVersion!
      const review = { apiVersion: `authorization.k8s.io/${version}`, kind: "SubjectAccessReview" }
      const { groups, ...others } = spec
      // The older version names the groups in the singular.
      const sent = version === "v1" ? spec : { ...others, group: groups }
      const decision = decisionIn(await reviewed(webhook, review, sent))
      metrics.called(name, "success", began)
      this.#keep(key, decision)
      return decision
    } catch (err) {
      const error = err as Error
      const result = error.message.includes("context deadline exceeded") ? "timeout" : "error"
      metrics.called(name, result, began)
      if (configuration.failurePolicy === "NoOpinion") metrics.failedOpen(name, result)
      if (clock.monotonic() >= this.#toldAt + LEAST_TELL_MS) {
        this.#toldAt = clock.monotonic()
        log.error("Failed to ask a webhook that authorizes", { webhook: name, error })
      }
      return this.#failed(error)
    }
  }

  #failed(error: Error): AuthorizationDecision {
    const isDenied = this.#options.configuration.failurePolicy === "Deny"
    return { allowed: false, reason: "", error, ...(isDenied ? { isDenied } : {}) }
  }

  #keep(key: string, decision: AuthorizationDecision): void {
    const ms = decision.allowed ? this.#allowedMs : this.#refusedMs
    if (ms <= 0 || key.length > LONGEST_KEPT || decision.error !== undefined) return
    this.#answers.set(key, { until: this.#options.clock.monotonic() + ms, decision })
  }
}

interface Answer {
  readonly until: number
  readonly decision: AuthorizationDecision
}

const NO_OPINION: AuthorizationDecision = { allowed: false, reason: "" }

function decisionIn(status: Readonly<Record<string, unknown>>): AuthorizationDecision {
  const [allowed, isDenied, reason] = [
    booleanIn(status, "allowed"),
    booleanIn(status, "denied"),
    textIn(status, "reason"),
  ]
  if (allowed && isDenied)
    return {
      allowed: false,
      isDenied,
      reason,
      error: new Error("webhook subject access review returned both allow and deny response"),
    }
  return { allowed, reason, ...(isDenied ? { isDenied } : {}) }
}
