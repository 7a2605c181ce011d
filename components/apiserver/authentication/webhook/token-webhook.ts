import { createHash } from "node:crypto"
import { RecentByText } from "../../../../pkg/cache/recent-by-text.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import type { KubeconfigWebhook } from "../../webhooks/kubeconfig-webhook.ts"
import { booleanIn, objectIn, reviewed, textIn, textsIn } from "../../webhooks/review-webhook.ts"
import { withAuthenticated, type TokenAuthenticator, type TokenVerdict } from "../authenticator.ts"

export interface TokenWebhookOptions {
  readonly webhook: Pick<KubeconfigWebhook, "post">
  /** Of the TokenReview that is sent, and expected back. */
  readonly version: "v1" | "v1beta1"
  /** How long an answer counts, in milliseconds; not at all where it is 0. */
  readonly cacheMs: number
  readonly apiAudiences: readonly string[]
  readonly clock: Clock
  readonly log: Logger
}

/** The users that are kept; and as many refusals. */
const KEPT = { entries: 8192, characters: 8 * 1024 * 1024 }
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
  /**
   * By the hash of token and audiences: the tokens themselves are not kept. Refusals are kept apart, since anybody can
   * send any number of tokens that nobody knows: they would displace the users.
   */
  const users = newAnswers()
  const refusals = newAnswers()
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
      const now = clock.monotonic()
      const known = [users, refusals]
        .map((kept) => kept.get(key))
        .find((kept) => kept !== undefined && now < kept.until)
      if (known !== undefined) return known.verdict
      const underWay = asking.get(key)
      if (underWay !== undefined) return underWay
      if (asking.size >= MOST_WAITING) return { error: "too many tokens wait for the webhook" }
      const asked = ask(token, audiences).then(
        (verdict) => {
          asking.delete(key)
          const kept = verdict !== undefined && "user" in verdict ? users : refusals
          if (cacheMs > 0) kept.set(key, { until: clock.monotonic() + cacheMs, verdict })
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

interface Answer {
  readonly until: number
  readonly verdict: TokenVerdict
}
const newAnswers = () =>
  new RecentByText<Answer>({ ...KEPT, weightOf: ({ verdict }) => JSON.stringify(verdict ?? null).length })

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
