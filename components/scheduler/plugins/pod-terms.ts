import type { PodAffinityTerm, WeightedPodAffinityTerm } from "../../../pkg/api/core/v1/pod/scheduling/affinity.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { fromLabelSelector, type LabelMatcher, type Labels } from "../../../pkg/apimachinery/selectors/labels.ts"

/** Returns the labels of a namespace, for terms that select namespaces by label. */
export type NamespaceLabels = (namespace: string) => Labels | undefined

type Terms = readonly (PodAffinityTerm | WeightedPodAffinityTerm)[]

const compiled = new WeakMap<Terms, TermSet>()

/**
 * The affinity terms of a pod, indexed once for all pods that share them. A pod may have thousands of terms, and each
 * is of interest only on nodes with its topology key, and for pods with a label that it requires, if it requires one.
 * Source: framework/types.go AffinityTerm.
 */
export class TermSet {
  readonly isEmpty: boolean
  /** By topology key. */
  readonly #groups = new Map<string, Group>()
  readonly #all: readonly Term[]

  private constructor(terms: Terms) {
    this.isEmpty = terms.length === 0
    this.#all = terms.map((given) =>
      "podAffinityTerm" in given ? new Term(given.podAffinityTerm, given.weight) : new Term(given, 1),
    )
    for (const term of this.#all) {
      let group = this.#groups.get(term.topologyKey)
      if (group === undefined) this.#groups.set(term.topologyKey, (group = new Group()))
      group.add(term)
    }
  }

  static of(terms: Terms = NO_TERMS): TermSet {
    let set = compiled.get(terms)
    if (set === undefined) compiled.set(terms, (set = new TermSet(terms)))
    return set
  }

  /** Each topology key once. */
  get topologyKeys(): Iterable<string> {
    return this.#groups.keys()
  }

  /** Returns the terms of `owner` that match another pod, of those whose topology key is among the node's `labels`. */
  *matching(owner: Pod, pod: Pod, labels: Labels, namespaceLabels: NamespaceLabels): Generator<Term> {
    for (const [, group] of this.#groupsAt(labels)) yield* group.matching(owner, pod, namespaceLabels)
  }

  /** Adds to `places` those of the node's `labels` for which a term of `owner` matches another pod. */
  mark(places: TopologyCounts, owner: Pod, pod: Pod, labels: Labels, namespaceLabels: NamespaceLabels): void {
    for (const [key, group] of this.#groupsAt(labels))
      if (places.get(key, labels[key]) === 0 && group.matching(owner, pod, namespaceLabels).next().done !== true)
        places.add(key, labels[key], 1)
  }

  /** Whether every term of `owner` matches another pod. */
  everyMatches(owner: Pod, pod: Pod, namespaceLabels: NamespaceLabels): boolean {
    return this.#all.every((term) => term.matches(owner, pod, namespaceLabels))
  }

  *#groupsAt(labels: Labels): Generator<readonly [string, Group]> {
    if (this.isEmpty) return
    for (const key in labels) {
      const group = this.#groups.get(key)
      if (group !== undefined) yield [key, group]
    }
  }
}

const NO_TERMS: Terms = []
/** A term that accepts more values of a label is not found by them: it would be in the index as often. */
const MOST_VALUES = 20

/** The terms with one topology key. */
class Group {
  /** By key and value of a label, the terms that require it. */
  readonly #byLabel = new Map<string, Map<string, Term[]>>()
  readonly #others: Term[] = []

  add(term: Term): void {
    const { required } = term
    if (required === undefined) this.#others.push(term)
    else
      for (const value of required.values ?? []) {
        let values = this.#byLabel.get(required.key)
        if (values === undefined) this.#byLabel.set(required.key, (values = new Map<string, Term[]>()))
        const terms = values.get(value)
        if (terms === undefined) values.set(value, [term])
        else if (terms.at(-1) !== term) terms.push(term)
      }
  }

  *matching(owner: Pod, pod: Pod, namespaceLabels: NamespaceLabels): Generator<Term> {
    for (const term of this.#others) if (term.matches(owner, pod, namespaceLabels)) yield term
    if (this.#byLabel.size === 0) return
    const { labels = {} } = pod.metadata
    for (const key in labels)
      for (const term of this.#byLabel.get(key)?.get(labels[key]!) ?? [])
        if (term.matches(owner, pod, namespaceLabels)) yield term
  }
}

/** An affinity term; `weight` is 1 for a required one. */
class Term {
  readonly topologyKey: string
  readonly weight: number
  readonly #given: PodAffinityTerm
  /** Compiled when the term is first asked. */
  #compiled: { readonly selector: LabelMatcher; readonly byLabel: LabelMatcher | undefined } | undefined

  constructor(given: PodAffinityTerm, weight: number) {
    this.topologyKey = given.topologyKey
    this.weight = weight
    this.#given = given
  }

  /** A label that the term requires, with one of some values; undefined if there is none. */
  get required(): { readonly key: string; readonly values?: readonly string[] | undefined } | undefined {
    const { matchLabels = {}, matchExpressions } = this.#given.labelSelector ?? {}
    for (const key in matchLabels) return { key, values: [matchLabels[key]!] }
    return matchExpressions?.find(({ operator, values = [] }) => operator === "In" && values.length < MOST_VALUES)
  }

  /** A term without namespaces and namespaceSelector means the namespace of the pod that has it. */
  matches(owner: Pod, { metadata: { namespace = "", labels } }: Pod, namespaceLabels: NamespaceLabels): boolean {
    const { namespaces, namespaceSelector, labelSelector } = this.#given
    // Without a selector a term matches nothing.
    if (labelSelector === undefined) return false
    this.#compiled ??= {
      selector: fromLabelSelector(labelSelector),
      byLabel: namespaceSelector === undefined ? undefined : fromLabelSelector(namespaceSelector),
    }
    const { selector, byLabel } = this.#compiled
    if (!selector.matches(labels)) return false
    const isOwn = namespaces === undefined && namespaceSelector === undefined
    if (isOwn ? namespace === (owner.metadata.namespace ?? "") : namespaces?.includes(namespace)) return true
    return byLabel !== undefined && (byLabel.everything || byLabel.matches(namespaceLabels(namespace) ?? {}))
  }
}

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

  copy(): TopologyCounts {
    const copy = new TopologyCounts()
    for (const [pair, count] of this.counts) copy.counts.set(pair, count)
    return copy
  }
}
