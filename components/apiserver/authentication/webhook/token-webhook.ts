import { createHash } from "node:crypto"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import type { KubeconfigWebhook } from "../../webhooks/kubeconfig-webhook.ts"
import { booleanIn, objectIn, reviewed, textIn, textsIn } from "../../webhooks/review-webhook.ts"
import { withAuthenticated, type TokenAuthenticator, type TokenVerdict } from "../authenticator.ts"

export interface TokenWebhookOptions {
  readonly webhook: KubeconfigWebhook
  /** Of the TokenReview that is sent, and expected back. */
  readonly version: "v1" | "v1beta1"
  /** How long an answer counts, in milliseconds; not at all where it is 0. */
  readonly cacheMs: number
  readonly apiAudiences: readonly string[]
  readonly clock: Clock
  readonly log: Logger
}

/** Answers that are kept. */
const MOST_ANSWERS = 4096
/** Longer tokens are not sent, in characters. */
const LONGEST = 64 * 1024
/** At most as many calls wait for the webhook; the next is refused at once. */
const MOST_WAITING = 500

/**
 * Authenticates tokens by a webhook: it is sent a TokenReview, and its answer is kept for a while. Requests with the
 * same token wait for one answer. Sources: apiserver plugin/pkg/authenticator/token/webhook,
 * pkg/authentication/token/cache.
 */
export function createTokenWebhook(options: TokenWebhookOptions): TokenAuthenticator {
  const { webhook, version, cacheMs, apiAudiences, clock, log } = options
  /** By the hash of token and audiences: the tokens themselves are not kept. */
  const answers = new Map<string, { readonly until: number; readonly verdict: TokenVerdict }>()
  const asking = new Map<string, Promise<TokenVerdict>>()

  async function ask(token: string, audiences: readonly string[]): Promise<TokenVerdict> {
    const review = { apiVersion: `authentication.k8s.io/${version}`, kind: "TokenReview" }
    try {
      return verdictIn(await reviewed(webhook, review, { token, audiences }), audiences, apiAudiences)
    } catch (err) {
      log.error("Failed to ask the webhook that authenticates tokens", { error: err })
      throw err
    }
  }

  return {
    authenticate(token, audiences = apiAudiences) {
      if (token.length > LONGEST) return undefined
      const key = createHash("sha256")
        .update(JSON.stringify([token, audiences]))
        .digest("base64")
      const known = answers.get(key)
      if (known !== undefined && clock.monotonic() < known.until) return known.verdict
      const underWay = asking.get(key)
      if (underWay !== undefined) return underWay
      if (asking.size >= MOST_WAITING) return { error: "too many tokens wait for the webhook" }
      const asked = ask(token, audiences).then(
        (verdict) => {
          asking.delete(key)
          if (cacheMs > 0) {
            answers.delete(key)
            if (answers.size >= MOST_ANSWERS) answers.delete(answers.keys().next().value!)
            answers.set(key, { until: clock.monotonic() + cacheMs, verdict })
          }
          return verdict
        },
        // A failure is not kept.
        (err: unknown): TokenVerdict => {
          asking.delete(key)
          return { error: errorMessage(err) }
        },
      )
      asking.set(key, asked)
      return asked
    },
  }
}

/** @throws Error for an answer whose fields have other types */
function verdictIn(
  status: Readonly<Record<string, unknown>>,
  asked: readonly string[],
  apiAudiences: readonly string[],
): TokenVerdict {
  const has = textsIn(status, "audiences")
  const audiences = asked.filter((audience) => (has.length > 0 ? has : apiAudiences).includes(audience))
  if (audiences.length === 0) return undefined
  if (!booleanIn(status, "authenticated")) {
    const error = textIn(status, "error")
    return error === "" ? undefined : { error }
  }
  const user = objectIn(status, "user")
  const uid = textIn(user, "uid")
  const given = objectIn(user, "extra")
  const extra = Object.fromEntries(Object.keys(given).map((name) => [name, textsIn(given, name)]))
  return {
    user: {
      name: textIn(user, "username"),
      ...(uid === "" ? {} : { uid }),
      groups: withAuthenticated(textsIn(user, "groups")),
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
    },
    audiences,
  }
}
