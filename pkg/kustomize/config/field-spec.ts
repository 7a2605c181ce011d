import { equalGvk, gvkText, isSelected, type Gvk } from "../resource/gvk.ts"
import { inKindOrder } from "../resource/kind-order.ts"

/** Where a field is that a transformer changes, and in which kinds. Source: kustomize api/types/fieldspec.go. */
export interface FieldSpec extends Gvk {
  /** Names separated by slashes; `[]` behind the name of a list that must exist. */
  readonly path: string
  /** Whether the field is created where it is missing. */
  readonly create: boolean
}

/** Kinds whose names are used in fields of other kinds. Source: kustomize builtinconfig/namebackreferences.go. */
export interface NameBackReference extends Gvk {
  readonly fieldSpecs: readonly FieldSpec[]
}

/** Adds field specs that are not there yet. @throws Error when one is there with another `create` */
export function mergeSpecs(specs: readonly FieldSpec[], others: readonly FieldSpec[]): readonly FieldSpec[] {
  const merged = [...specs]
  for (const other of others) {
    const same = merged.find((spec) => spec.path === other.path && isSelected(spec, other))
    if (same === undefined) merged.push(other)
    else if (same.create !== other.create) throw new Error("conflicting fieldspecs")
  }
  return merged
}

export function mergeReferences(
  references: readonly NameBackReference[],
  others: readonly NameBackReference[],
): readonly NameBackReference[] {
  const merged = [...references]
  for (const other of others) {
    let found = false
    for (const [i, reference] of merged.entries()) {
      if (!equalGvk(reference, other)) continue
      found = true
      merged[i] = { ...reference, fieldSpecs: mergeSpecs(reference.fieldSpecs, other.fieldSpecs) }
    }
    if (!found) merged.push(other)
  }
  return merged
}

export const sortedByKind = <T extends Gvk>(list: readonly T[]): readonly T[] => list.toSorted(inKindOrder)

/** Returns a field spec as Go's `%v` shows it. */
export const specText = (spec: FieldSpec): string => `${gvkText(spec)}:${spec.create}:${spec.path}`
