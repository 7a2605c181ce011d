import type { Resource } from "../../../pkg/apimachinery/resource.ts"

/**
 * Kinds of other servers, for the components of this process that look after all kinds. It outlives a server that is
 * stopped and started again.
 */
export class RemoteKinds {
  readonly #listeners = new Set<() => void>()
  #resources: readonly Resource[] = []
  #stale: readonly string[] = []

  /** Those that are known, though their server may not be had just now. */
  get resources(): readonly Resource[] {
    return this.#resources
  }

  /** The versions, as `<group>/<version>`, whose server cannot say what it has. */
  get stale(): readonly string[] {
    return this.#stale
  }

  /** Called when kinds have come or gone; gives what ends the calls. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  set(resources: readonly Resource[], stale: readonly string[]): void {
    this.#stale = stale
    const isSame =
      resources.length === this.#resources.length && resources.every((one, i) => one === this.#resources[i])
    if (isSame) return
    this.#resources = resources
    for (const listener of this.#listeners) listener()
  }
}
