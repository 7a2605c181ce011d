import type { FieldSpec } from "../config/field-spec.ts"
import { inByteOrder } from "../go/byte-order.ts"
import { Tag, type YamlNode } from "../node/yaml-node.ts"
import { applyFieldSpecs } from "./apply-field-spec.ts"
import { entrySetter } from "./set-entry.ts"
import type { Transformer } from "./transformer.ts"

/**
 * Returns a transformer that adds labels or annotations to all fields that hold some. Source: kustomize
 * api/filters/labels and api/filters/annotations.
 */
export const entriesTransformer = (
  entries: Readonly<Record<string, string>>,
  specs: readonly FieldSpec[],
): Transformer => ({
  transform(map) {
    for (const { node } of map.resources) if (node !== undefined) addEntries(node, entries, specs)
  },
})

export function addEntries(
  object: YamlNode,
  entries: Readonly<Record<string, string>>,
  specs: readonly FieldSpec[],
): void {
  for (const [name, value] of Object.entries(entries).toSorted(([a], [b]) => inByteOrder(a, b)))
    applyFieldSpecs(object, specs, {
      set: entrySetter(name, value, Tag.text),
      createKind: "map",
      createTag: Tag.map,
    })
}
