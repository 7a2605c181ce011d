import type { LabelMatcher, Labels } from "../../../pkg/apimachinery/selectors/labels.ts"
import { keyFrom, type Key } from "../../../pkg/client/informer.ts"

/** The name of an autoscaler. */
interface Named {
  readonly namespace: string
  readonly name: string
}
interface Entry extends Named {
  readonly selector: LabelMatcher
  readonly bucket: string
}

/**
 * Which pods each autoscaler scales, so that two that scale the same are found out. Selectors lie by a label that they
 * need, as nearly all do: to look a pod up costs no more than it has labels, however many autoscalers there are.
 * Source: pkg/controller/util/selectors/bimultimap.go.
 */
export class PodSelectors {
  readonly #entries = new Map<Key, Entry>()
  readonly #buckets = new Map<string, Set<Entry>>()

  /** Sets the selector of an autoscaler, in place of the one before. */
  set(autoscaler: Named, selector: LabelMatcher): void {
    const { namespace, name } = autoscaler
    this.delete(keyFrom(autoscaler))
    const needed = selector.requirements.find(({ operator }) => operator === "=" || operator === "==")
    const bucket = bucketOf(namespace, needed?.key, needed?.values[0])
    const entry = { namespace, name, selector, bucket }
    this.#entries.set(keyFrom(autoscaler), entry)
    const others = this.#buckets.get(bucket)
    if (others === undefined) this.#buckets.set(bucket, new Set([entry]))
    else others.add(entry)
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    const bucket = this.#buckets.get(entry.bucket)!
    bucket.delete(entry)
    if (bucket.size === 0) this.#buckets.delete(entry.bucket)
  }

  /** The autoscalers that scale any of these pods of a namespace, by name. */
  selecting(
    namespace: string,
    pods: readonly { readonly metadata: { readonly labels?: Labels | undefined } }[],
  ): readonly Named[] {
    const found = new Set<Entry>()
    for (const { metadata } of pods) {
      const { labels = {} } = metadata
      const keys = [bucketOf(namespace), ...Object.entries(labels).map((label) => bucketOf(namespace, ...label))]
      for (const key of keys)
        for (const entry of this.#buckets.get(key) ?? []) if (entry.selector.matches(labels)) found.add(entry)
    }
    return [...found].sort((a, b) => (a.name < b.name ? -1 : 1))
  }
}

const bucketOf = (namespace: string, key = "", value = ""): string => `${namespace}/${key}=${value}`
