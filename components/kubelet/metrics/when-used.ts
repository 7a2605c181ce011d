import type { Registry } from "../../../pkg/metrics/registry.ts"

/** Families of metrics in several registries, which are registered when one counts first, or when somebody asks. */
export class WhenUsed<Families> {
  readonly #registries: readonly Registry[]
  readonly #register: (registry: Registry) => Families
  #families: readonly Families[] | undefined

  constructor(registries: readonly Registry[], register: (registry: Registry) => Families) {
    this.#registries = registries
    this.#register = register
    for (const registry of registries) registry.whenAsked(() => void this.all)
  }

  /** The families of each registry. */
  get all(): readonly Families[] {
    return (this.#families ??= this.#registries.map(this.#register))
  }
}
