import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { LabelMatcher } from "../../../pkg/apimachinery/selectors/labels.ts"
import type { Index, Lister } from "../../../pkg/client/informer.ts"

/** At most this many label keys have an index: each costs something at every change of a pod. */
const MOST_KEYS = 16

/** The indexes of each informer of pods, by label key. */
const indexesOf = new WeakMap<Lister<Pod>, Map<string, Index<Pod>>>()

/**
 * Returns the pods of a namespace that a selector selects, in any order. Reads only pods that have one of the wanted
 * labels, where the selector wants a label with one value: a large namespace is read as a whole only for other
 * selectors.
 */
export function selectedPods(pods: Lister<Pod>, namespace: string, selector: LabelMatcher): readonly Pod[] {
  const { requirements, everything } = selector
  if (everything) return pods.list(namespace)
  let candidates: readonly Pod[] | undefined
  for (const { key, operator, values } of requirements) {
    const isOneValue = operator === "=" || operator === "==" || (operator === "in" && values.length === 1)
    const index = isOneValue ? indexOf(pods, key) : undefined
    if (index === undefined) continue
    const group = pods.by(index, groupName(namespace, values[0]!))
    if (candidates === undefined || group.length < candidates.length) candidates = group
  }
  return (candidates ?? pods.list(namespace)).filter(({ metadata }) => selector.matches(metadata.labels))
}

/** Returns the index of a label key; undefined where too many others have one. */
function indexOf(pods: Lister<Pod>, key: string): Index<Pod> | undefined {
  let indexes = indexesOf.get(pods)
  if (indexes === undefined) indexesOf.set(pods, (indexes = new Map()))
  let index = indexes.get(key)
  if (index === undefined && indexes.size < MOST_KEYS) indexes.set(key, (index = byLabel(key)))
  return index
}

const byLabel = (key: string): Index<Pod> => ({
  name: `label ${key}`,
  of({ metadata: { namespace = "", labels } }) {
    return labels !== undefined && Object.hasOwn(labels, key) ? [groupName(namespace, labels[key]!)] : []
  },
})

/** Neither a namespace nor a label's value has a slash. */
const groupName = (namespace: string, value: string): string => `${namespace}/${value}`
