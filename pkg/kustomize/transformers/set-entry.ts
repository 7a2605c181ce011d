import { setField, setScalar } from "../node/fields.ts"
import { Tag, YamlNode } from "../node/yaml-node.ts"

/**
 * Returns a function that sets a scalar, or a field of a map if it has a name. All fields that it creates share one
 * node, as in kustomize: a later change of one of them changes all. Source: kustomize api/filters/filtersutil.
 */
export function entrySetter(name: string, value: string, tag: string = Tag.none): (node: YamlNode) => void {
  const entry = new YamlNode("scalar", { value, tag })
  return (node) => {
    if (name === "") setScalar(node, entry)
    else setField(node, name, entry)
  }
}
