import type { FieldSpec } from "../config/field-spec.ts"
import { Tag } from "../node/yaml-node.ts"
import { isSelected, type Gvk } from "../resource/gvk.ts"
import type { Resource } from "../resource/resource.ts"
import { applyFieldSpec } from "./apply-field-spec.ts"
import { entrySetter } from "./set-entry.ts"
import type { Transformer } from "./transformer.ts"

/** The kinds whose names stay. Source: kustomize PrefixTransformer.go. */
const SKIPPED: readonly Gvk[] = [
  { group: "", version: "", kind: "CustomResourceDefinition" },
  { group: "apiregistration.k8s.io", version: "", kind: "APIService" },
  { group: "", version: "", kind: "Namespace" },
]

export const prefixTransformer = (prefix: string, specs: readonly FieldSpec[]): Transformer =>
  nameTransformer(specs, {
    text: prefix,
    rename: (name) => prefix + name,
    note: (resource) => resource.addPrefix(prefix),
  })

export const suffixTransformer = (suffix: string, specs: readonly FieldSpec[]): Transformer =>
  nameTransformer(specs, {
    text: suffix,
    rename: (name) => name + suffix,
    note: (resource) => resource.addSuffix(suffix),
  })

interface Change {
  readonly text: string
  readonly rename: (name: string) => string
  readonly note: (resource: Resource) => void
}

const nameTransformer = (specs: readonly FieldSpec[], change: Change): Transformer => ({
  transform(map) {
    for (const resource of map.resources) {
      const id = resource.originalId
      if (SKIPPED.some((gvk) => isSelected(id, gvk))) continue
      for (const spec of specs) if (isSelected(id, spec)) rename(resource, spec, change)
    }
  },
})

function rename(resource: Resource, spec: FieldSpec, { text, rename, note }: Change): void {
  if (spec.path === "metadata/name" && text !== "") {
    note(resource)
    resource.storePreviousId()
  }
  if (resource.node === undefined) return
  applyFieldSpec(resource.node, spec, {
    set: (node) => entrySetter("", rename(node.value))(node),
    createKind: "scalar",
    createTag: Tag.text,
  })
}
