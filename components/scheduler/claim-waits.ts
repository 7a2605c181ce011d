import { PersistentVolume } from "../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { ResourceClaim } from "../../pkg/api/resource/v1/resourceclaim.ts"
import type { KubeObject } from "../../pkg/apimachinery/resource.ts"
import { keyFrom, type Informers } from "../../pkg/client/informer.ts"

type Look = () => void

/**
 * Tells bindings of their claims for volumes and devices, of volumes and of pods. One subscription serves all of them:
 * with one for each binding the time of a thousand bindings would grow with their square.
 */
export class ClaimWaits {
  /** By `<namespace>/<name>` of a claim of either kind, and by the uid of a pod, which has no slash. */
  readonly #looks = new Map<string, Set<Look>>()
  readonly #off: readonly (() => void)[]

  constructor(informers: Informers) {
    const claim = ({ metadata }: KubeObject) => this.#tell(keyFrom(metadata))
    this.#off = [
      informers.of(PersistentVolumeClaim).on({ updated: claim, deleted: claim }),
      informers.of(ResourceClaim).on({ added: claim, updated: claim, deleted: claim }),
      informers.of(PersistentVolume).on({ updated: ({ spec }) => this.#tell(keyFrom(spec.claimRef ?? {})) }),
      informers.of(Pod).on({ deleted: ({ metadata }) => this.#tell(metadata.uid ?? "") }),
    ]
  }

  /** Calls `look` when one of the claims, its volume or the pod changes, until the returned function is called. */
  on(pod: Pod, claims: readonly KubeObject[], look: Look): () => void {
    const keys = [pod.metadata.uid ?? "", ...claims.map(({ metadata }) => keyFrom(metadata))]
    for (const key of keys) {
      const looks = this.#looks.get(key)
      if (looks === undefined) this.#looks.set(key, new Set([look]))
      else looks.add(look)
    }
    return () => {
      for (const key of keys) {
        const looks = this.#looks.get(key)
        looks?.delete(look)
        if (looks?.size === 0) this.#looks.delete(key)
      }
    }
  }

  stop(): void {
    for (const off of this.#off) off()
  }

  #tell(key: string): void {
    for (const look of [...(this.#looks.get(key) ?? [])]) look()
  }
}
