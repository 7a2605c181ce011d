import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { MIRROR_ANNOTATION } from "../../../pkg/api/core/v1/pod/pod-annotations-validation.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import { StoredKind } from "../cacher/stored-kind.ts"

/** An index of the stored pods by their node. */
export class NodePods {
  /** Node name → key in the store → pod. */
  readonly #pods = new Map<string, Map<string, Pod>>()

  constructor(storage: Storage) {
    const pods = new StoredKind(storage, Pod)
    for (const { key, object } of pods.list()) this.#add(key, object)
    pods.subscribe(({ key, type, stored: { object: pod } }) => {
      if (type === "delete") this.#pods.get(pod.spec.nodeName ?? "")?.delete(key)
      else this.#add(key, pod)
    })
  }

  /**
   * Whether `uses` holds for a pod of the namespace on the node. Mirror pods, which a kubelet creates for its static
   * pods, are left out: a kubelet could create one that names any Secret.
   */
  someUses(node: string, namespace: string | undefined, uses: (pod: Pod) => boolean): boolean {
    for (const pod of this.#pods.get(node)?.values() ?? []) {
      const { metadata } = pod
      if (metadata.namespace === namespace && metadata.annotations?.[MIRROR_ANNOTATION] === undefined && uses(pod))
        return true
    }
    return false
  }

  #add(key: string, pod: Pod): void {
    const { nodeName } = pod.spec
    if (nodeName === undefined || nodeName === "") return
    const pods = this.#pods.get(nodeName)
    if (pods === undefined) this.#pods.set(nodeName, new Map([[key, pod]]))
    else pods.set(key, pod)
  }
}
