import type { PodAffinityTerm } from "../../../pkg/api/core/v1/pod/scheduling/affinity.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { fromLabelSelector, type LabelMatcher, type Labels } from "../../../pkg/apimachinery/selectors/labels.ts"

/** Returns the labels of a namespace, for terms that select namespaces by label. */
export type NamespaceLabels = (namespace: string) => Labels | undefined

/** An affinity term, compiled. Source: framework/types.go AffinityTerm. */
export interface PodTerm {
  readonly topologyKey: string
  matches(pod: Pod): boolean
}

/** Compiles affinity terms of `pod`; a term without namespaces and namespaceSelector means the pod's own namespace. */
export const termsOf = (
  pod: Pod,
  terms: readonly PodAffinityTerm[] | undefined,
  namespaceLabels: NamespaceLabels,
): readonly PodTerm[] =>
  (terms ?? []).map(({ topologyKey, labelSelector, namespaces, namespaceSelector }) => {
    const selector = labelSelector === undefined ? undefined : fromLabelSelector(labelSelector)
    const named = new Set(namespaces ?? (namespaceSelector === undefined ? [pod.metadata.namespace ?? ""] : []))
    const byLabel: LabelMatcher | undefined =
      namespaceSelector === undefined ? undefined : fromLabelSelector(namespaceSelector)
    return {
      topologyKey,
      matches(other) {
        const namespace = other.metadata.namespace ?? ""
        if (selector?.matches(other.metadata.labels) !== true) return false
        return (
          named.has(namespace) ||
          (byLabel !== undefined && (byLabel.everything || byLabel.matches(namespaceLabels(namespace) ?? {})))
        )
      },
    }
  })

/** Counts by topology key and value. */
export class TopologyCounts {
  private readonly counts = new Map<string, number>()

  add(key: string, value: string | undefined, amount: number): void {
    if (value === undefined) return
    const pair = `${key}=${value}`
    this.counts.set(pair, (this.counts.get(pair) ?? 0) + amount)
  }

  get(key: string, value: string | undefined): number {
    return value === undefined ? 0 : (this.counts.get(`${key}=${value}`) ?? 0)
  }

  get empty(): boolean {
    return this.counts.size === 0
  }
}
