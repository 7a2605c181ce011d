import { isQualifiedName, oneProblem } from "../../../pkg/apimachinery/validation/names.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"

const STANDARD: readonly string[] = ["orphan", "foregroundDeletion", "kubernetes"]

/**
 * Returns warnings about new finalizers without a domain in their name. Source: registry/customresource/validator.go.
 */
export function finalizerWarnings({ metadata }: KubeObject, old: KubeObject | undefined): readonly string[] {
  const { finalizers = [] } = metadata
  if (finalizers.length === 0 || finalizers === old?.metadata.finalizers) return []
  const before = new Set(old?.metadata.finalizers)
  return [...new Set(finalizers.filter((name) => !before.has(name)))].sort().flatMap((name) => {
    const start = `metadata.finalizers: ${JSON.stringify(name)}:`
    const problem = isQualifiedName(name)
    const warnings = problem === undefined ? [] : [`${start} ${oneProblem(problem, ",")}`]
    if (name.includes("/") || STANDARD.includes(name)) return warnings
    const prefer = name.includes(".")
      ? "prefer a domain-qualified finalizer name including a path (/)"
      : "prefer a domain-qualified finalizer name"
    return [...warnings, `${start} ${prefer} to avoid accidental conflicts with other finalizer writers`]
  })
}
