import { createHash } from "node:crypto"
import { exactKey } from "../../../../pkg/cache/exact-key.ts"
import { f, message, type ObjectOf } from "../../../../pkg/apimachinery/fields.ts"
import { ApiError, type Cause } from "../../../../pkg/apimachinery/errors.ts"
import { invalidValue, notSupported } from "../../../../pkg/apimachinery/validation/field-errors.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { ConfigurationKind } from "../../../../pkg/config-file/config-file.ts"
import type { AdmissionAttributes, AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

const Limit = message("eventratelimit.Limit", "How many Events may come.", {
  type: f.string(1, "What has a bucket of its own: Server, Namespace, User or SourceAndObject."),
  qps: f.int32(2, "Events a second, in the long run."),
  burst: f.int32(3, "Events at once."),
  cacheSize: f.int32(4, "Buckets that are kept, those used last."),
})
interface Limit extends ObjectOf<typeof Limit> {}
const Configuration = message("eventratelimit.Configuration", "Limits of Events.", {
  limits: f.list(1, Limit, "Each Event must be within all of them."),
})
export interface EventLimits extends ObjectOf<typeof Configuration> {}

const TYPES = ["Server", "Namespace", "User", "SourceAndObject"] as const

/** Source: plugin/pkg/admission/eventratelimit/apis/eventratelimit. */
export const EVENT_RATE_LIMIT: ConfigurationKind<typeof Configuration> = {
  apiVersions: ["eventratelimit.admission.k8s.io/v1alpha1"],
  kind: "Configuration",
  schema: Configuration,
  validate: ({ limits }) => [
    ...((limits ?? []).length === 0 ? [invalidValue("limits", limits ?? null, "must not be empty")] : []),
    ...(limits ?? []).flatMap(({ type = "", qps = 0, burst = 0, cacheSize = 0 }, i): Cause[] => [
      ...((TYPES as readonly string[]).includes(type) ? [] : [notSupported(`limits[${i}].type`, type, TYPES)]),
      ...(burst > 0 ? [] : [invalidValue(`limits[${i}].burst`, burst, "must be positive")]),
      ...(qps > 0 ? [] : [invalidValue(`limits[${i}].qps`, qps, "must be positive")]),
      ...(type === "Server" || cacheSize >= 0
        ? []
        : [invalidValue(`limits[${i}].cacheSize`, cacheSize, "must not be negative")]),
    ]),
  ],
}

/** Source: eventratelimit/limitenforcer.go defaultCacheSize. */
const BUCKETS = 4096

/** Refuses Events that come too fast. Source: plugin/pkg/admission/eventratelimit. */
export function eventRateLimit({ clock }: AdmissionContext, { limits = [] }: EventLimits): AdmissionPlugin {
  const enforcers = limits.map((limit) => ({ type: limit.type ?? "", buckets: new Buckets(limit, clock) }))
  return {
    name: "EventRateLimit",
    operations: ["CREATE", "UPDATE"],
    kinds: ["events", "events.events.k8s.io"],
    validate(attributes) {
      if (attributes.options.dryRun === true) return
      const reached = enforcers.flatMap(({ type, buckets }) => {
        const parts = keyOf(type, attributes)
        return buckets.take(bucketOf(parts)) ? [] : [`limit reached on type ${type} for key ${parts.join("")}`]
      })
      if (reached.length > 0)
        throw new ApiError(
          "TooManyRequests",
          `Too many requests: ${reached.length === 1 ? reached[0]! : `[${reached.join(", ")}]`}`,
        )
    },
  }
}

/** Longer texts, which users may write into an Event, are kept as their hashes, in characters. */
const LONGEST = 1024

/**
 * Returns the name of a bucket. Upstream joins the parts, so that one user can write an Event that takes from the
 * bucket of another.
 */
function bucketOf(parts: readonly string[]): string {
  const key = exactKey(parts)
  return key.length <= LONGEST ? key : createHash("sha256").update(key).digest("base64")
}

function keyOf(type: string, { namespace = "", user, object }: AdmissionAttributes): readonly string[] {
  switch (type) {
    case "Namespace":
      return [namespace]
    case "User":
      return [user.name]
    case "SourceAndObject":
      return sourceAndObject(object as Readonly<Record<string, unknown>> | undefined)
    default:
      return []
  }
}

/** The fields of an Event of either group: that of events.k8s.io has other names for the same. */
function sourceAndObject(event: Readonly<Record<string, unknown>> | undefined): readonly string[] {
  const part = (...names: readonly string[]) =>
    names.map((name) => event?.[name]).find((value) => value !== undefined) as
      | Readonly<Record<string, string | undefined>>
      | undefined
  const source = part("source", "deprecatedSource")
  const about = part("involvedObject", "regarding")
  return [
    ...[source?.["component"], source?.["host"], about?.["kind"], about?.["namespace"]],
    ...[about?.["name"], about?.["uid"], about?.["apiVersion"]],
  ].map((text) => text ?? "")
}

/** Buckets of tokens by key. The bucket that was used longest ago is dropped when there are too many. */
class Buckets {
  readonly #perSecond: number
  readonly #burst: number
  readonly #most: number
  readonly #clock: Pick<Clock, "monotonic">
  readonly #buckets = new Map<string, { tokens: number; at: number }>()

  constructor({ qps = 0, burst = 0, cacheSize = 0 }: Limit, clock: Pick<Clock, "monotonic">) {
    this.#perSecond = qps
    this.#burst = burst
    this.#most = cacheSize === 0 ? BUCKETS : cacheSize
    this.#clock = clock
  }

  /** Takes a token, if there is one. */
  take(key: string): boolean {
    const now = this.#clock.monotonic()
    const bucket = this.#buckets.get(key) ?? { tokens: this.#burst, at: now }
    // The last entry of the map is the one used most recently.
    this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    if (this.#buckets.size > this.#most) this.#buckets.delete(this.#buckets.keys().next().value!)
    bucket.tokens = Math.min(this.#burst, bucket.tokens + ((now - bucket.at) / 1000) * this.#perSecond)
    bucket.at = now
    if (bucket.tokens < 1) return false
    bucket.tokens--
    return true
  }
}
