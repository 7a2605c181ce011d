import { PersistentVolume } from "../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { ResourceClaim } from "../../pkg/api/resource/v1/resourceclaim.ts"
import type { KubeObject } from "../../pkg/apimachinery/resource.ts"
import { keyFrom, type Informers } from "../../pkg/client/informer.ts"

type Listener = () => void

/**
 * Tells bindings of their claims for volumes and devices, of volumes and of pods. One subscription serves all of them:
 * with one for each binding the time of a thousand bindings would grow with their square.
 */
export class ClaimWaits {
  /** By `<namespace>/<name>` of a claim of either kind, and by the uid of a pod, which has no slash. */
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #off: readonly (() => void)[]

  constructor(informers: Informers) {
    const claim = ({ metadata }: KubeObject) => this.#notify(keyFrom(metadata))
    this.#off = [
      informers.of(PersistentVolumeClaim).on({ updated: claim, deleted: claim }),
      informers.of(ResourceClaim).on({ added: claim, updated: claim, deleted: claim }),
      informers.of(PersistentVolume).on({ updated: ({ spec }) => this.#notify(keyFrom(spec.claimRef ?? {})) }),
      informers.of(Pod).on({ deleted: ({ metadata }) => this.#notify(metadata.uid ?? "") }),
    ]
  }

  /** Calls `listener` when one of the claims, its volume or the pod changes, until the returned function is called. */
  on(pod: Pod, claims: readonly KubeObject[], listener: Listener): () => void {
    const keys = [pod.metadata.uid ?? "", ...claims.map(({ metadata }) => keyFrom(metadata))]
    for (const key of keys) {
      const listeners = this.#listeners.get(key)
      if (listeners === undefined) this.#listeners.set(key, new Set([listener]))
      else listeners.add(listener)
    }
    return () => {
      for (const key of keys) {
        const listeners = this.#listeners.get(key)
        listeners?.delete(listener)
        if (listeners?.size === 0) this.#listeners.delete(key)
      }
    }
  }

  stop(): void {
    for (const off of this.#off) off()
  }

  #notify(key: string): void {
    for (const listener of [...(this.#listeners.get(key) ?? [])]) listener()
  }
}
