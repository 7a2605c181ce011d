import { expectKind, fieldOf, keys, setField } from "../node/fields.ts"
import { inByteOrder } from "../go/byte-order.ts"
import { isNull, Tag, textOf, YamlNode, type NodeKind } from "../node/yaml-node.ts"
import type { MergeSchema } from "../schema/merge-schema.ts"
import type { Schemas } from "../schema/schemas.ts"
import { directiveOf } from "./directives.ts"
import { mergeItems } from "./merge-items.ts"
import type { Pair } from "./pair.ts"

/**
 * Merges a strategic merge patch into a node, in place. Returns undefined when the patch deletes the node. Lists are
 * merged item by item only where the schema of a known kind says so; items of the patch come first. Source: kyaml
 * yaml/merge2/merge2.go and yaml/walk.
 */
export function mergePatch(patch: YamlNode, target: YamlNode, schemas: Schemas): YamlNode | undefined {
  return new Merge(schemas).merge({ target, patch }, undefined)
}

class Merge {
  readonly #schemas: Schemas
  /** Nulls of the target that stay, though null in a patch removes a field. */
  readonly #kept = new Set<YamlNode>()

  constructor(schemas: Schemas) {
    this.#schemas = schemas
  }

  merge(pair: Pair, known: MergeSchema | undefined): YamlNode | undefined {
    const schema = known ?? this.#schemaOf(pair.target) ?? this.#schemaOf(pair.patch)
    const kind = kindOf(pair)
    if (kind !== undefined) for (const node of [pair.target, pair.patch]) expectKind(node, kind)
    if (kind === "scalar") return pair.patch ?? pair.target
    adoptStyle(pair)
    if (kind !== "list") return this.#mergeMap(pair, schema)
    if (schema?.keys === undefined) return pair.patch ?? pair.target
    const target = chooseList(pair)
    return target === undefined
      ? undefined
      : mergeItems({ target, patch: pair.patch }, schema, (item, type) => this.merge(item, type))
  }

  /** An object inside another one may be of a known kind too. */
  #schemaOf(node: YamlNode | undefined): MergeSchema | undefined {
    if (isNull(node)) return undefined
    const [kind, apiVersion] = [textOf(fieldOf(node, "kind")), textOf(fieldOf(node, "apiVersion"))]
    return kind === "" || apiVersion === "" ? undefined : this.#schemas.schemaOf(apiVersion, kind)
  }

  #mergeMap(pair: Pair, schema: MergeSchema | undefined): YamlNode | undefined {
    const target = this.#chooseMap(pair)
    if (target === undefined) return undefined
    const names = new Set([target, pair.patch].flatMap((map) => namesOf(map)))
    for (const name of [...names].toSorted(inByteOrder)) {
      const fields = { target: fieldOf(target, name), patch: fieldOf(pair.patch, name) }
      const styles = new Map([target, pair.patch].flatMap((map) => keyStyle(map, name)))
      const value = this.merge(fields, schema?.field(name))
      const options = value === undefined ? {} : { keyStyle: styles.get(value), keepsNull: this.#kept.has(value) }
      setField(target, name, value, { keyStyle: options.keyStyle ?? 0, keepsNull: options.keepsNull ?? false })
    }
    return target
  }

  #chooseMap({ target, patch }: Pair): YamlNode | undefined {
    if (target === undefined || isNull(target)) {
      if (directiveOf(patch, { lenient: true }) === "delete") return undefined
      if (patch !== undefined || target === undefined || target.value === "") return patch
      const kept = new YamlNode("scalar", { tag: Tag.null, value: target.value })
      this.#kept.add(kept)
      return kept
    }
    if (patch?.tag === Tag.null) return undefined
    return chosen({ target, patch })
  }
}

function chooseList({ target, patch }: Pair): YamlNode | undefined {
  if (target === undefined || isNull(target)) return patch
  return patch?.tag === Tag.null ? undefined : chosen({ target, patch })
}

function chosen({ target, patch }: Pair): YamlNode | undefined {
  switch (directiveOf(patch)) {
    case "delete":
      return undefined
    case "replace":
      return patch
    case "merge":
      return target
  }
}

function kindOf({ target, patch }: Pair): NodeKind | undefined {
  if (target !== undefined && !isNull(target)) return target.kind
  return patch !== undefined && !isNull(patch) ? patch.kind : undefined
}

/** An empty collection takes over the style of the patch. */
function adoptStyle({ target, patch }: Pair): void {
  if (target !== undefined && patch !== undefined && target.kind !== "scalar" && target.content.length === 0)
    target.style = patch.style
}

const namesOf = (map: YamlNode | undefined): readonly string[] =>
  map !== undefined && (map.kind === "map" || isNull(map)) ? keys(map).map((key) => key.value) : []

function keyStyle(map: YamlNode | undefined, name: string): (readonly [YamlNode, number])[] {
  if (map === undefined || map.kind !== "map") return []
  for (let i = 0; i + 1 < map.content.length; i += 2)
    if (map.content[i]!.value === name) return [[map.content[i + 1]!, map.content[i]!.style]]
  return []
}
