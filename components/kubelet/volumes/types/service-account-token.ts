/**
 * Requests and renews tokens of pods' service accounts. Each token is bound to one pod, and becomes invalid with it.
 * Source: pkg/kubelet/token/token_manager.go.
 */
import { ServiceAccount } from "../../../../pkg/api/core/v1/serviceaccount.ts"
import { TokenRequest } from "../../../../pkg/api/authentication/v1/tokenrequest.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { Client } from "../../../../pkg/client/client.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { Random } from "../../../../pkg/clock/random.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import type { LateText } from "../../runtime/payload.ts"

export interface TokenQuery {
  readonly pod: Pod
  /** The audience of the token; the API server when empty. */
  readonly audience: string
  readonly expirationSeconds: number
}

export interface HeldToken {
  /** The status of a TokenRequest; an API server of the same process signs the token when it is first read. */
  readonly status: LateText
  /** When to renew the token, in milliseconds of the monotonic clock. */
  readonly renewAt: number
}

interface Cached extends HeldToken {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/** A token that a pod needs: the last one, and the request for another while one is under way. */
interface Asked {
  held: Cached | undefined
  asking: Promise<Cached> | undefined
}

/**
 * A token is renewed after 80 % of its lifetime, and after a day at the latest; up to ten seconds are added or
 * subtracted at random, so that not all tokens are renewed at once.
 */
const LIFE_USED = 0.8
const LONGEST_USE_MS = 24 * 3600 * 1000
const JITTER_MS = 10_000
/** The delay before a failed renewal of a valid token is tried again. */
const RETRY_MS = 10_000

export class ServiceAccountTokens {
  readonly #options: { readonly client: Client; readonly clock: Clock; readonly random: Random; readonly log: Logger }
  /** By the pod's uid, then by lifetime and audience: a pod may have any number of tokens. */
  readonly #asked = new Map<string, Map<string, Asked>>()

  constructor(options: {
    readonly client: Client
    readonly clock: Clock
    readonly random: Random
    readonly log: Logger
  }) {
    this.#options = options
  }

  /** Returns a valid token. @throws Error when there is none and the request for one fails */
  async get(query: TokenQuery): Promise<HeldToken> {
    const { clock, log } = this.#options
    const { uid = "", namespace = "" } = query.pod.metadata
    const { audience, expirationSeconds } = query
    const ofPod = this.#asked.get(uid) ?? new Map<string, Asked>()
    this.#asked.set(uid, ofPod)
    const key = `${expirationSeconds} ${audience}`
    const asked = ofPod.get(key) ?? { held: undefined, asking: undefined }
    ofPod.set(key, asked)
    // Of concurrent callers that find the token too old, the first requests a new one for all.
    if (asked.asking !== undefined) return asked.asking
    const before = asked.held
    if (before !== undefined && clock.monotonic() < before.renewAt) return before
    const account = query.pod.spec.serviceAccountName ?? ""
    const asking = this.#request(query, account).catch((err: unknown): Cached => {
      if (before === undefined || clock.now() >= before.expiresAt)
        throw new Error(`failed to fetch token: ${errorMessage(err)}`, { cause: err })
      log.warn("Failed to renew a service account token; the old one is still valid", {
        namespace,
        serviceAccount: account,
        pod: query.pod.metadata.name,
        err,
      })
      return { ...before, renewAt: clock.monotonic() + RETRY_MS }
    })
    asked.asking = asking
    try {
      return (asked.held = await asking)
    } finally {
      asked.asking = undefined
    }
  }

  forget(podUid: string): void {
    this.#asked.delete(podUid)
  }

  async #request({ pod, audience, expirationSeconds }: TokenQuery, account: string): Promise<Cached> {
    const { client, clock, random } = this.#options
    const { name, namespace, uid } = pod.metadata
    const { status } = await client.createSubresource<TokenRequest>(
      ServiceAccount,
      { name: account, namespace },
      "token",
      {
        apiVersion: TokenRequest.apiVersion,
        kind: TokenRequest.kind,
        metadata: { name: account, namespace },
        spec: {
          audiences: audience === "" ? [] : [audience],
          expirationSeconds,
          boundObjectRef: { kind: "Pod", apiVersion: "v1", name, uid },
        },
      },
    )
    const expiresAt =
      status.expirationTimestamp === undefined
        ? clock.now() + expirationSeconds * 1000
        : Date.parse(status.expirationTimestamp)
    const lifeMs = expirationSeconds * 1000
    const used = lifeMs - (expiresAt - clock.now())
    const renewIn = Math.min(LIFE_USED * lifeMs, LONGEST_USE_MS) - used - random.next() * JITTER_MS
    const renewAt = clock.monotonic() + renewIn
    return { status, expiresAt, renewAt }
  }
}
