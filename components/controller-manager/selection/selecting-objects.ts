import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { LabelMatcher, Labels } from "../../../pkg/apimachinery/selectors/labels.ts"
import type { Index, Lister } from "../../../pkg/client/informer.ts"

/** Finds objects of a kind by the pods that they select: Services, budgets. */
export interface SelectingObjects<T extends KubeObject> {
  /** Returns the objects of a namespace whose selector matches any of these sets of labels. */
  selecting(objects: Lister<T>, namespace: string, ...labels: readonly (Labels | undefined)[]): readonly T[]
}

/** A pod with more labels is compared with each object. */
const MOST_LABELS = 32

/** The group of the objects that want no label with one value. */
const OTHERS = "/"

/**
 * Returns what finds objects by the pods that they select, by an index of one label that their selector wants, so that
 * the change of a pod does not cost more where there are more objects. `matcherOf` returns undefined for an object that
 * selects no pods.
 */
export function selectingObjects<T extends KubeObject>(
  name: string,
  matcherOf: (object: T) => LabelMatcher | undefined,
): SelectingObjects<T> {
  const byWantedLabel: Index<T> = {
    name,
    of(object) {
      const matcher = matcherOf(object)
      if (matcher === undefined || (matcher.requirements.length === 0 && !matcher.everything)) return []
      const namespace = object.metadata.namespace ?? ""
      const wanted = matcher.requirements.find(
        ({ operator, values }) => operator === "=" || operator === "==" || (operator === "in" && values.length === 1),
      )
      return [wanted === undefined ? namespace + OTHERS : groupName(namespace, wanted.key, wanted.values[0]!)]
    },
  }
  return {
    selecting(objects, namespace, ...sets) {
      const matches = (object: T) => {
        const matcher = matcherOf(object)
        return matcher !== undefined && sets.some((labels) => matcher.matches(labels))
      }
      const groups = new Set<string>([namespace + OTHERS])
      for (const labels of sets) for (const key in labels) groups.add(groupName(namespace, key, labels[key]!))
      if (groups.size > MOST_LABELS) return objects.list(namespace).filter(matches)
      const found: T[] = []
      for (const group of groups)
        for (const object of objects.by(byWantedLabel, group)) if (matches(object)) found.push(object)
      return found
    },
  }
}

/** Returns the labels of an object, and those that it had before where they were others. */
export const labelsOf = ({ metadata }: KubeObject, old: KubeObject | undefined): readonly (Labels | undefined)[] =>
  old === undefined || old.metadata.labels === metadata.labels
    ? [metadata.labels]
    : [metadata.labels, old.metadata.labels]

/** A namespace has no slash, and a key no equals sign. */
const groupName = (namespace: string, key: string, value: string): string => `${namespace}/${key}=${value}`
