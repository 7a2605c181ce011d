import type { RestClient } from "../rest/rest-client.ts"
import type { RestMapping } from "../rest/rest-mapper.ts"
import type { WatchEvent } from "../rest/watch-events.ts"
import { Helper, type RequestTransform } from "./helper.ts"
import { Info } from "./info.ts"
import type { Visit, Visitor } from "./visitor.ts"

/** All objects of a resource, or those that selectors match: each page of the list is an info. */
export class Selector implements Visitor {
  readonly mapping: RestMapping
  readonly #client: RestClient
  readonly #namespace: string
  readonly #labelSelector: string
  readonly #fieldSelector: string
  readonly #limit: number
  readonly #transform: RequestTransform | undefined

  constructor(parts: {
    readonly client: RestClient
    readonly mapping: RestMapping
    readonly namespace: string
    readonly labelSelector: string
    readonly fieldSelector: string
    /** How many objects a page has; 0: all are one page. */
    readonly limit: number
    readonly transform: RequestTransform | undefined
  }) {
    this.mapping = parts.mapping
    this.#client = parts.client
    this.#namespace = parts.namespace
    this.#labelSelector = parts.labelSelector
    this.#fieldSelector = parts.fieldSelector
    this.#limit = parts.limit
    this.#transform = parts.transform
  }

  get #helper(): Helper {
    return new Helper(this.#client, this.mapping, this.#transform)
  }

  async visit(visit: Visit): Promise<void> {
    let next = ""
    do {
      const list = await this.#helper.list(this.#namespace, {
        labelSelector: this.#labelSelector,
        fieldSelector: this.#fieldSelector,
        limit: this.#limit,
        continue: next,
      })
      await visit(
        new Info({
          client: this.#client,
          mapping: this.mapping,
          namespace: this.#namespace,
          object: list,
          resourceVersion: list.metadata?.resourceVersion,
          transform: this.#transform,
        }),
      )
      next = list.metadata?.continue ?? ""
    } while (next !== "")
  }

  watch(resourceVersion: string, signal?: AbortSignal): AsyncGenerator<WatchEvent, void, undefined> {
    return this.#helper.watch(
      this.#namespace,
      { resourceVersion, labelSelector: this.#labelSelector, fieldSelector: this.#fieldSelector },
      signal,
    )
  }
}
