import type { FieldSpec } from "../config/field-spec.ts"
import type { Image } from "../kustomization/kustomization.ts"
import { expectKind, fieldOf, get } from "../node/fields.ts"
import { isNull, type YamlNode } from "../node/yaml-node.ts"
import { applyFieldSpecs } from "./apply-field-spec.ts"
import { changedImage, imagePattern } from "./image-reference.ts"
import type { Pattern } from "./regular-expression.ts"
import { entrySetter } from "./set-entry.ts"
import type { Transformer } from "./transformer.ts"

/** Returns a transformer that changes references to an image. Source: kustomize api/filters/imagetag. */
export const imageTransformer = (image: Image, specs: readonly FieldSpec[]): Transformer => ({
  transform(map) {
    const pattern = imagePattern(image.name ?? "")
    const update = (node: YamlNode) => updateImage(node, image, pattern)
    for (const resource of map.resources) {
      if (resource.kind === "CustomResourceDefinition" || resource.node === undefined) continue
      updateContainers(resource.node, update)
    }
    for (const resource of map.resources)
      if (resource.kind !== "CustomResourceDefinition" && resource.node !== undefined)
        applyFieldSpecs(resource.node, specs, { set: update })
  },
})

function updateImage(node: YamlNode, image: Image, pattern: Pattern): void {
  expectKind(node, "scalar")
  if (pattern.matches(node.value)) entrySetter("", changedImage(node.value, image))(node)
}

/** Updates the images in all lists of containers, wherever they are. */
function updateContainers(node: YamlNode, update: (node: YamlNode) => void): void {
  if (node.kind === "list") for (const item of node.content) updateContainers(item, update)
  if (node.kind !== "map" || isNull(node)) return
  for (let i = 0; i + 1 < node.content.length; i += 2) {
    const name = node.content[i]!.value
    const value = fieldOf(node, name)!
    updateContainers(value, update)
    if ((name !== "containers" && name !== "initContainers") || value.kind !== "list") continue
    for (const container of value.content) {
      const image = get(container, "image")
      if (image !== undefined) update(image)
    }
  }
}
