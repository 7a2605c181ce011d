import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { MIRROR_ANNOTATION } from "../../../pkg/api/core/v1/pod/pod-annotations-validation.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import { storagePrefix } from "../cacher/view.ts"

/** Which pods are on which node, followed by the store's events. */
export class NodePods {
  /** By node and by their keys. */
  readonly #pods = new Map<string, Map<string, Pod>>()

  constructor(storage: Storage) {
    const prefix = storagePrefix(Pod, undefined)
    for (const stored of storage.list(prefix)) this.#place(stored.key, stored.object as Pod)
    storage.subscribe((events) => {
      for (const { key, type, stored } of events) {
        if (!key.startsWith(prefix)) continue
        const pod = stored.object as Pod
        if (type === "delete") this.#pods.get(pod.spec.nodeName ?? "")?.delete(key)
        else this.#place(key, pod)
      }
    })
  }

  /**
   * Whether something is used by a pod of a namespace on a node. Pods that a kubelet made to show its static ones do
   * not count: it could make one that names any Secret.
   */
  someUses(node: string, namespace: string | undefined, uses: (pod: Pod) => boolean): boolean {
    for (const pod of this.#pods.get(node)?.values() ?? []) {
      const { metadata } = pod
      if (metadata.namespace === namespace && metadata.annotations?.[MIRROR_ANNOTATION] === undefined && uses(pod))
        return true
    }
    return false
  }

  #place(key: string, pod: Pod): void {
    const { nodeName } = pod.spec
    if (nodeName === undefined || nodeName === "") return
    const pods = this.#pods.get(nodeName)
    if (pods === undefined) this.#pods.set(nodeName, new Map([[key, pod]]))
    else pods.set(key, pod)
  }
}
