import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { PacedLog } from "../../../pkg/log/paced-log.ts"

/** Upstream fills a watch cache again one second after it failed. Source: cacher.go NewCacherFromConfig. */
const AGAIN_MS = 1000
/** How Retry-After grows with the time since the first failure. Source: cacher/util.go. */
const GROWTH = 0.06
const MOST_SECONDS = 30

interface Failure {
  readonly firstAt: number
  readonly lastAt: number
  readonly why: string
}

/**
 * Knows which kinds cannot be shown because a conversion webhook fails. Their lists and watches are refused with 429
 * until the conversion of all their objects succeeds, as upstream's are while a watch cache cannot be filled. Source:
 * apiserver pkg/storage/cacher/ready.go, KEP-4568.
 */
export class Readiness {
  readonly #clock: Pick<Clock, "monotonic">
  readonly #log: PacedLog
  /** By version of the kind and prefix of the objects. */
  readonly #failures = new Map<string, Failure>()

  constructor(clock: Pick<Clock, "monotonic">, log: Pick<Logger, "warn">) {
    this.#clock = clock
    this.#log = new PacedLog(clock, log)
  }

  /** Whether objects have failed to be converted, and have not been converted since. */
  isFailing(resource: Resource, prefix: string): boolean {
    return this.#failures.has(keyOf(resource, prefix))
  }

  /**
   * Returns the refusal of a request while the webhook has failed within the last second; undefined when it is to be
   * called.
   */
  refusal(resource: Resource, prefix: string): ApiError | undefined {
    const failure = this.#failures.get(keyOf(resource, prefix))
    if (failure === undefined || this.#clock.monotonic() - failure.lastAt >= AGAIN_MS) return undefined
    return this.#refused(failure)
  }

  succeeded(resource: Resource, prefix: string): void {
    this.#failures.delete(keyOf(resource, prefix))
  }

  /** Forgets the failures of a kind whose definition has changed or is gone. */
  forget({ apiVersion }: Resource, prefix: string): void {
    for (const key of this.#failures.keys()) if (key.startsWith(`${apiVersion} ${prefix}`)) this.#failures.delete(key)
  }

  /** Notes and logs that objects could not be converted. Returns the refusal of the request. */
  failed(resource: Resource, prefix: string, err: unknown): ApiError {
    const { group, version, kind, plural } = resource
    const now = this.#clock.monotonic()
    const key = keyOf(resource, prefix)
    const why = `failed to list ${group}/${version}, Kind=${kind}: ${errorMessage(err)}`
    const failure = { firstAt: this.#failures.get(key)?.firstAt ?? now, lastAt: now, why }
    this.#failures.set(key, failure)
    this.#log.warn(`${plural}.${group}/${version}`, "Objects cannot be converted: lists and watches are refused", {
      resource: `${plural}.${group}`,
      version,
      error: errorMessage(err),
    })
    return this.#refused(failure)
  }

  #refused({ firstAt, why }: Failure): ApiError {
    const seconds = Math.exp((GROWTH * (this.#clock.monotonic() - firstAt)) / 1000)
    return new ApiError("TooManyRequests", `storage is (re)initializing: ${why}`, {
      retryAfterSeconds: Math.floor(Math.min(MOST_SECONDS, Math.max(1, seconds))),
    })
  }
}

const keyOf = ({ apiVersion }: Resource, prefix: string): string => `${apiVersion} ${prefix}`
