import { clearField, fieldOf, get, setItem } from "../node/fields.ts"
import { isNull, kindName, type YamlNode } from "../node/yaml-node.ts"
import { writeNode } from "../node/write-node.ts"

/** What a patch does with the node that it is for. */
export type Directive = "merge" | "replace" | "delete"

const KEY = "$patch"

/**
 * Returns what `$patch` in a map, or in an item of a list, says, and removes it from the patch. A lenient call takes
 * what it does not know as "merge". Source: kyaml yaml/merge2/smpdirective.go.
 * @throws Error when the patch is a scalar, or the directive is unknown
 */
export function directiveOf(
  patch: YamlNode | undefined,
  { lenient = false }: { readonly lenient?: boolean } = {},
): Directive {
  if (patch === undefined) return "merge"
  if (patch.kind === "scalar") {
    if (lenient) return "merge"
    throw new Error(
      `no implemented strategic merge patch strategy for '${patch.tag || kindName(patch.kind)}' ('${writeNode(patch)}')`,
    )
  }
  const value = patch.kind === "map" ? get(patch, KEY) : directiveInList(patch)
  if (value === undefined) return "merge"
  const name = value.value
  if (name !== "merge" && name !== "replace" && name !== "delete") {
    if (lenient) return "merge"
    throw new Error(`unknown patch strategy '${name}'`)
  }
  if (patch.kind === "map") clearField(patch, KEY)
  else setItem(patch, { keys: [KEY], values: [name] }, undefined)
  return name
}

function directiveInList(patch: YamlNode): YamlNode | undefined {
  const item = patch.content.find((item) => item.kind === "map" && !isNull(item) && fieldOf(item, KEY) !== undefined)
  return item === undefined || item.content.length > 2 ? undefined : fieldOf(item, KEY)
}
