import { parseLabelSelector } from "../../apimachinery/selectors/labels.ts"
import type { Selector } from "../kustomization/kustomization.ts"
import type { Gvk } from "../resource/gvk.ts"
import type { Resource } from "../resource/resource.ts"
import type { ResourceMap } from "../resource/resource-map.ts"
import { effectiveNamespace, type ResId } from "../resource/res-id.ts"
import { wholePattern } from "./regular-expression.ts"

/** A selector whose fields are regular expressions. Source: kustomize api/types/selector.go. */
export class SelectorPatterns {
  readonly #patterns: Readonly<
    Record<"group" | "version" | "kind" | "name" | "namespace", ReturnType<typeof wholePattern>>
  >

  /** @throws Error in Go's words for an invalid pattern */
  constructor({ group, version, kind, name, namespace }: Selector) {
    this.#patterns = {
      group: wholePattern(group),
      version: wholePattern(version),
      kind: wholePattern(kind),
      name: wholePattern(name),
      namespace: wholePattern(namespace),
    }
  }

  matchesGvk({ group, version, kind }: Gvk): boolean {
    const { group: groups, version: versions, kind: kinds } = this.#patterns
    return groups.matches(group) && versions.matches(version) && kinds.matches(kind)
  }
  matchesName(name: string): boolean {
    return this.#patterns.name.matches(name)
  }
  matchesNamespace(namespace: string): boolean {
    return this.#patterns.namespace.matches(namespace)
  }
  matches(id: ResId): boolean {
    return this.matchesGvk(id) && this.matchesName(id.name) && this.matchesNamespace(id.namespace)
  }
}

/** Returns the objects that a selector means, by their first or their current names. */
export function selectResources(map: ResourceMap, selector: Selector): readonly Resource[] {
  const patterns = new SelectorPatterns(selector)
  return map.resources.filter((resource) => {
    const [now, first] = [resource.currentId, resource.originalId]
    return (
      [first, now].some((id) => patterns.matchesNamespace(effectiveNamespace(id))) &&
      [first, now].some((id) => patterns.matchesName(id.name)) &&
      patterns.matchesGvk(resource.gvk) &&
      matchesLabels(resource.labels, selector.labelSelector) &&
      matchesLabels(resource.annotations, selector.annotationSelector)
    )
  })
}

/** Returns whether labels match a selector in text form; everything matches an empty one. @throws Error */
export const matchesLabels = (labels: Readonly<Record<string, string>>, selector = ""): boolean =>
  parseLabelSelector(selector).matches(labels)
