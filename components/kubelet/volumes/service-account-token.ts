/**
 * Tokens of pods' service accounts, each made for one pod and ending with it, renewed in time. Source:
 * pkg/kubelet/token/token_manager.go.
 */
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { TokenRequest } from "../../../pkg/api/authentication/v1/tokenrequest.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Client } from "../../../pkg/client/client.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { Logger } from "../../../pkg/log/log.ts"

export interface TokenQuery {
  readonly pod: Pod
  /** For whom the token is; the API server when empty. */
  readonly audience: string
  readonly expirationSeconds: number
}

export interface HeldToken {
  readonly token: string
  /** When to ask again, in milliseconds of the monotonic clock. */
  readonly renewAt: number
}

interface Cached extends HeldToken {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/** What was asked for on behalf of a pod, and the last answer. */
interface Asked {
  readonly audience: string
  readonly expirationSeconds: number
  answer: Promise<Cached> | undefined
}

/**
 * A token is renewed when a fifth of its life is left, and after a day in any case; a few seconds earlier or later, so
 * that not all come at once.
 */
const LIFE_USED = 0.8
const LONGEST_USE_MS = 24 * 3600 * 1000
const JITTER_MS = 10_000
/** Between two tries to renew a token that still holds. */
const RETRY_MS = 10_000

export class ServiceAccountTokens {
  readonly #options: { readonly client: Client; readonly clock: Clock; readonly random: Random; readonly log: Logger }
  /** By the pod's uid. Lists, since nearly every pod has one token. */
  readonly #pods = new Map<string, Asked[]>()

  constructor(options: {
    readonly client: Client
    readonly clock: Clock
    readonly random: Random
    readonly log: Logger
  }) {
    this.#options = options
  }

  /** A token that holds. @throws Error when there is none and none can be had */
  async get(query: TokenQuery): Promise<HeldToken> {
    const { clock, log } = this.#options
    const { uid = "", namespace = "" } = query.pod.metadata
    const { audience, expirationSeconds } = query
    let held = this.#pods.get(uid)
    if (held === undefined) this.#pods.set(uid, (held = []))
    let asked = held.find((each) => each.audience === audience && each.expirationSeconds === expirationSeconds)
    if (asked === undefined) held.push((asked = { audience, expirationSeconds, answer: undefined }))
    const known = asked.answer
    const before = await known?.catch(() => undefined)
    if (before !== undefined && clock.monotonic() < before.renewAt) return before
    // Of several who found it too old, the first asks for all.
    if (asked.answer !== undefined && asked.answer !== known) return asked.answer
    const account = query.pod.spec.serviceAccountName ?? ""
    const asking = this.#request(query, account).catch((err: unknown): Cached => {
      if (before === undefined || clock.now() >= before.expiresAt)
        throw new Error(`failed to fetch token: ${err instanceof Error ? err.message : String(err)}`, { cause: err })
      log.warn("Cannot renew a service account token, keeping the one that holds", {
        namespace,
        serviceAccount: account,
        pod: query.pod.metadata.name,
        err,
      })
      return { ...before, renewAt: clock.monotonic() + RETRY_MS }
    })
    asked.answer = asking
    return asking
  }

  forget(podUid: string): void {
    this.#pods.delete(podUid)
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
    return { token: status.token, expiresAt, renewAt }
  }
}
