import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"

type Spec = Pod["spec"]
type Asked = Pick<Spec, "initContainers" | "resources" | "overhead">

/**
 * Caches what is calculated from the resources of a pod, which is immutable. Pods of one template share the list of
 * their containers, so that thousands of pods have a few entries: the engine visits each entry of a WeakMap in every
 * collection.
 */
export class ByContainers<V> {
  readonly #known = new WeakMap<Spec["containers"], Asked & { readonly value: V }>()

  of({ containers, initContainers, resources, overhead }: Spec, make: () => V): V {
    const known = this.#known.get(containers)
    if (
      known !== undefined &&
      known.initContainers === initContainers &&
      known.resources === resources &&
      known.overhead === overhead
    )
      return known.value
    const value = make()
    this.#known.set(containers, { initContainers, resources, overhead, value })
    return value
  }
}
