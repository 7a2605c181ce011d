/** Replaces values inside of a scalar whose text is YAML or JSON. Source: kustomize api/filters/replacement. */
import { goJson } from "../go/go-json.ts"
import { lookup } from "../node/lookup.ts"
import { readNode } from "../node/read-nodes.ts"
import { toValue } from "../node/to-value.ts"
import { writeNode } from "../node/write-node.ts"
import type { NodeKind, YamlNode } from "../node/yaml-node.ts"
import { matchPath } from "./match-path.ts"

/**
 * Sets the value at a path whose first parts lead to a scalar, and the others into its text. Returns false when the
 * path leads into no text.
 */
export function setInsideText(
  target: YamlNode,
  value: YamlNode,
  path: readonly string[],
  create: NodeKind | undefined,
): boolean {
  try {
    return replaceInside(target, value, path, create)
  } catch {
    return false
  }
}

function replaceInside(
  target: YamlNode,
  value: YamlNode,
  path: readonly string[],
  create: NodeKind | undefined,
): boolean {
  for (let length = 1; length < path.length; length++) {
    const holder = scalarAt(target, path.slice(0, length))
    const root = holder === undefined ? undefined : readNode(holder.value)
    if (holder === undefined || root === undefined) continue
    const found = matchPath(root, path.slice(length), create)
    if (found === undefined || found.length === 0) return false
    for (const field of found)
      if (field.kind === "scalar") field.value = value.value
      else field.assign(value)
    holder.value = serialized(root, holder.value)
    return true
  }
  return false
}

function scalarAt(node: YamlNode, path: readonly string[]): YamlNode | undefined {
  try {
    const found = lookup(node, path)
    return found?.kind === "scalar" ? found : undefined
  } catch {
    return undefined
  }
}

function serialized(root: YamlNode, original: string): string {
  if (!/^\s*[{[]/.test(original)) return writeNode(root).trim()
  const value = toValue(root)
  const isIndented = original.includes("\n") && original.includes("  ")
  return isIndented ? JSON.stringify(JSON.parse(goJson(value)), null, 2) : goJson(value)
}
