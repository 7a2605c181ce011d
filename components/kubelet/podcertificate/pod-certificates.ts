/**
 * Requests and renews the certificates of pods that projected volumes show, by PodCertificateRequests. Source:
 * pkg/kubelet/podcertificate/podcertificatemanager.go. A kubelet without such a volume does not load this file.
 */
import { PodCertificateRequest } from "../../../pkg/api/certificates/v1beta1/podcertificaterequest.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import type { PodCertificateProjection } from "../../../pkg/api/core/v1/volume/volume-projected.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import { createInformers, type RetryingInformers } from "../../../pkg/client/informers.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"
import { pemBlocks, pemOf } from "../../../pkg/pki/der/pem.ts"
import { certificateRequestOf, newKeyOf } from "../../../pkg/pki/request/make-request.ts"
import type { KubeletContext } from "../context.ts"

/** A certificate that a pod has, or waits for. */
interface Held {
  readonly pod: Pod
  /** The private key and the certificates as PEM; undefined before the first are issued. */
  credential: Credential | undefined
  request: { readonly name: string; readonly keyPem: string } | undefined
  /** Resolves when a request under way is made, or has failed. */
  requesting: Promise<void> | undefined
  /** Why the pod gets no certificate any more. */
  refusal: string | undefined
  isOverdue: boolean
  isExpired: boolean
}

interface Credential {
  readonly keyPem: string
  readonly chainPem: string
  /** Milliseconds since the epoch. */
  readonly refreshAt: number
  readonly expiresAt: number
}

export interface CertificateQuery {
  readonly pod: Pod
  readonly volume: string
  /** The place of the source in the volume. */
  readonly index: number
  readonly source: PodCertificateProjection
}

export interface HeldCertificate {
  readonly keyPem: string
  readonly chainPem: string
  /** When to ask again, in milliseconds of the monotonic clock. */
  readonly renewAt: number
}

/** Renewals are spread over five minutes. */
const JITTER_MS = 5 * 60_000
const OVERDUE_MS = 10 * 60_000
/** The delay before a failed renewal is tried again. */
const RETRY_MS = 10_000

export class PodCertificates {
  readonly #context: KubeletContext
  /** Called when a request of the pod was decided. */
  readonly #changed: (podUid: string) => void
  /** By the pod's uid, then by volume and index. */
  readonly #held = new Map<string, Map<string, Held>>()
  #informers: RetryingInformers | undefined

  constructor(context: KubeletContext, changed: (podUid: string) => void) {
    this.#context = context
    this.#changed = changed
  }

  /** Returns the certificate that the pod has. @throws Error while it has none, or when it gets none */
  async get(query: CertificateQuery): Promise<HeldCertificate> {
    const { clock, log } = this.#context
    const held = this.#heldFor(query)
    if (held.refusal !== undefined) throw new Error(held.refusal)
    const isDue = held.credential === undefined || clock.now() >= held.credential.refreshAt
    if (isDue && held.request === undefined) {
      held.requesting ??= this.#request(query, held).finally(() => (held.requesting = undefined))
      try {
        await held.requesting
      } catch (err) {
        if (held.credential === undefined) throw err
        log.warn("Failed to request the next certificate of a pod", { pod: query.pod.metadata.name, err })
      }
    }
    const { credential } = held
    if (credential === undefined) throw new Error("credential bundle is not issued yet")
    this.#tellAge(held, credential)
    return { ...credential, renewAt: clock.monotonic() + this.#untilNext(held, credential) }
  }

  forget(podUid: string): void {
    this.#held.delete(podUid)
  }

  stop(): void {
    this.#informers?.stop()
    this.#held.clear()
  }

  #heldFor({ pod, volume, index }: CertificateQuery): Held {
    const uid = pod.metadata.uid!
    const ofPod = this.#held.get(uid) ?? new Map<string, Held>()
    this.#held.set(uid, ofPod)
    const key = `${index} ${volume}`
    const known = ofPod.get(key)
    if (known !== undefined) return known
    const held: Held = {
      pod,
      credential: undefined,
      request: undefined,
      requesting: undefined,
      refusal: undefined,
      isOverdue: false,
      isExpired: false,
    }
    ofPod.set(key, held)
    return held
  }

  async #request({ pod, source }: CertificateQuery, held: Held): Promise<void> {
    const { client, informers, config } = this.#context
    const { namespace = "", name = "", uid = "" } = pod.metadata
    const { serviceAccountName = "" } = pod.spec
    const account = await client.get(ServiceAccount, { namespace, name: serviceAccountName })
    const nodes = informers.of(Node)
    await nodes.whenSynced()
    const node = nodes.get(config.nodeName)
    if (node === undefined) throw new Error(`node ${config.nodeName} is not known yet`)
    await this.#follow()
    const key = await newKeyOf(source.keyType)
    const { maxExpirationSeconds, userAnnotations, signerName } = source
    try {
      const request = await client.create(PodCertificateRequest, {
        metadata: {
          namespace,
          generateName: "req-",
          ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid }],
        },
        spec: {
          signerName,
          podName: name,
          podUID: uid,
          serviceAccountName,
          serviceAccountUID: account.metadata.uid ?? "",
          nodeName: config.nodeName,
          nodeUID: node.metadata.uid ?? "",
          stubPKCS10Request: certificateRequestOf(key).toString("base64"),
          ...(maxExpirationSeconds === undefined ? {} : { maxExpirationSeconds }),
          ...(userAnnotations === undefined ? {} : { unverifiedUserAnnotations: userAnnotations }),
        },
      })
      const keyPem = key.export({ type: "pkcs8", format: "pem" }).toString()
      held.request = { name: request.metadata.name!, keyPem }
      // Its watch may have been faster than the answer.
      this.#decided(this.#informers?.of(PodCertificateRequest).get(keyFrom(request.metadata)) ?? request)
    } catch (err) {
      throw new Error(`while creating PodCertificateRequest: ${errorMessage(err)}`, { cause: err })
    }
  }

  /** Follows the requests of this node, which it may watch by its name only. */
  async #follow(): Promise<void> {
    const { config } = this.#context
    if (this.#informers === undefined) {
      await this.#context.client
        .list(PodCertificateRequest, { fieldSelector: `spec.nodeName=${config.nodeName}`, limit: 1 })
        .catch((err: unknown) => {
          throw isNotFound(err) ? new Error("PodCertificateRequests are not served in this cluster") : err
        })
      this.#informers ??= this.#startInformers()
    }
    await this.#informers.whenSynced()
  }

  #startInformers(): RetryingInformers {
    const { client, clock, random, log, config } = this.#context
    const resource = PodCertificateRequest as unknown as Resource
    const fieldSelectors = new Map([[resource, `spec.nodeName=${config.nodeName}`]])
    const informers = createInformers({ client, clock, random, log, fieldSelectors })
    const decided = (request: PodCertificateRequest) => this.#decided(request)
    informers.of(PodCertificateRequest).on({ added: decided, updated: decided, deleted: (last) => this.#lost(last) })
    return informers
  }

  #waiting({ metadata: { name }, spec: { podUID } }: PodCertificateRequest): Held | undefined {
    return [...(this.#held.get(podUID)?.values() ?? [])].find(({ request }) => request?.name === name)
  }

  #decided(request: PodCertificateRequest): void {
    const held = this.#waiting(request)
    const { conditions = [], certificateChain = "", beginRefreshAt, notAfter } = request.status
    const decision = conditions.find(({ type }) => ["Issued", "Denied", "Failed"].includes(type))
    if (held?.request === undefined || decision === undefined) return
    const { events, random } = this.#context
    const { namespace = "", name = "" } = request.metadata
    const { type, reason, message } = decision
    if (type === "Issued") {
      held.credential = {
        keyPem: held.request.keyPem,
        chainPem: pemBlocks(certificateChain)
          .map(({ bytes }) => pemOf("CERTIFICATE", bytes))
          .join(""),
        refreshAt: Date.parse(beginRefreshAt ?? "") + random.next() * JITTER_MS,
        expiresAt: Date.parse(notAfter ?? ""),
      }
      held.isOverdue = held.isExpired = false
    } else {
      const what = `reason=${JSON.stringify(reason)}`
      const said = type === "Denied" ? "was denied" : "failed"
      const permanently = type === "Denied" ? "denied" : "failed"
      held.refusal = `PodCertificateRequest was permanently ${permanently}: ${what} message=${JSON.stringify(message)}`
      events.event(
        held.pod,
        "Warning",
        type,
        `PodCertificateRequest ${namespace}/${name} ${said}, ${what}, message=${JSON.stringify(message)}`,
      )
    }
    held.request = undefined
    this.#changed(request.spec.podUID)
  }

  /** A request that was deleted before its decision is made again. */
  #lost(request: PodCertificateRequest): void {
    const held = this.#waiting(request)
    if (held === undefined) return
    held.request = undefined
    this.#changed(request.spec.podUID)
  }

  #tellAge(held: Held, { refreshAt, expiresAt }: Credential): void {
    const { clock, events } = this.#context
    const now = clock.now()
    if (!held.isOverdue && now >= refreshAt + OVERDUE_MS) {
      held.isOverdue = true
      events.event(held.pod, "Warning", "CertificateOverdueForRefresh", "PodCertificate refresh overdue")
    }
    if (!held.isExpired && now >= expiresAt) {
      held.isExpired = true
      events.event(held.pod, "Warning", "CertificateExpired", "PodCertificate expired")
    }
  }

  /** Returns in how many milliseconds the certificate must be looked at again; Infinity if nothing is left to be said. */
  #untilNext(held: Held, { refreshAt, expiresAt }: Credential): number {
    const now = this.#context.clock.now()
    if (now < refreshAt) return refreshAt - now
    if (held.request === undefined) return RETRY_MS
    const moments = [refreshAt + OVERDUE_MS, expiresAt].filter((at) => at > now)
    return smallest(moments.map((at) => at - now))
  }
}
