import type { Resource } from "../../../pkg/apimachinery/resource.ts"

/**
 * The kinds of extension servers, for components of this process that handle all kinds. It remains when the API server
 * is stopped and started again.
 */
export class RemoteKinds {
  readonly #listeners = new Set<() => void>()
  #resources: readonly Resource[] = []
  #stale: readonly string[] = []

  /** All known kinds, including those whose server is not available at the moment. */
  get resources(): readonly Resource[] {
    return this.#resources
  }

  /** The versions, as `<group>/<version>`, whose server did not answer discovery. */
  get stale(): readonly string[] {
    return this.#stale
  }

  /** Calls the listener when kinds were added or removed. Returns a function that ends this. */
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
