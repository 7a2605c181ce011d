import { YamlError } from "../../yaml/cursor.ts"
import { type MapSink, type Node, type Properties, type ScalarStyle } from "../../yaml/node-reader.ts"
import { Parser } from "../../yaml/parser.ts"
import { setEntry } from "./fields.ts"
import { resolvePlain } from "./resolve-scalar.ts"
import { Style, Tag, YamlNode } from "./yaml-node.ts"

/**
 * Returns the first document of a text as nodes, without aliases and merge keys; undefined when the text has no
 * document. Source: go.yaml.in/yaml/v3 decode.go parser, and kyaml yaml/rnode.go DeAnchor.
 * @throws YamlError in go-yaml's words
 */
export function readNode(text: string): YamlNode | undefined {
  if (CONTROL.test(text)) throw new YamlError("yaml: control characters are not allowed")
  if (isMissingDocument(text)) return undefined
  try {
    return new NodeParser(text).document() as YamlNode
  } catch (err) {
    if (err instanceof RangeError) throw new YamlError("yaml: exceeded max depth of 10000")
    throw err instanceof YamlError && err.contextLine !== undefined
      ? new YamlError(`yaml: line ${err.contextLine}: ${err.problem}`)
      : err
  }
}

/** Matches codes that YAML does not allow at all. */
const CONTROL = /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ud800-\udfff\ue000-\ufffd]/

const STYLES: Readonly<Record<ScalarStyle, number>> = {
  plain: Style.plain,
  single: Style.single,
  double: Style.double,
  literal: Style.literal,
  folded: Style.folded,
}
const LONG_PREFIX = "tag:yaml.org,2002:"

/** A `<<` key that merges what is no map. */
export class MergeKeyError extends Error {}

class NodeParser extends Parser {
  /** The nodes that stand for aliases. */
  readonly #copies = new WeakSet<YamlNode>()

  protected override valueOf(
    { text, style }: { readonly text: string; readonly style: ScalarStyle },
    tag: string | undefined,
  ): unknown {
    const node = new YamlNode("scalar", { value: text, style: STYLES[style] })
    if (tag !== undefined && tag !== "!") {
      node.tag = shortTag(tag)
      node.style |= Style.tagged
    } else if (style !== "plain") node.tag = Tag.text
    else node.tag = resolvePlain(text).tag
    return node
  }

  /** Each alias gets nodes of its own, so that a change of one changes no other. */
  protected override aliased(name: string): unknown {
    const copy = (super.aliased(name) as YamlNode).copy()
    this.#copies.add(copy)
    return copy
  }

  protected override anchored<T>(properties: Properties, read: () => T): T {
    const value = super.anchored(properties, read)
    const { tag } = properties
    if (value instanceof YamlNode && value.kind !== "scalar" && tag !== undefined && tag !== "!") {
      value.tag = shortTag(tag)
      value.style |= Style.tagged
    }
    return value
  }

  protected override listOf(items: unknown[], inBrackets: boolean): unknown {
    return new YamlNode("list", {
      tag: Tag.list,
      content: items as YamlNode[],
      style: inBrackets ? Style.flow : Style.plain,
    })
  }

  protected override newMap(inBrackets: boolean): MapSink {
    return new MapOfNodes(inBrackets, this.#copies)
  }
}

const shortTag = (tag: string): string => (tag.startsWith(LONG_PREFIX) ? `!!${tag.slice(LONG_PREFIX.length)}` : tag)

class MapOfNodes implements MapSink {
  readonly #map: YamlNode
  #merged: YamlNode | undefined

  readonly #aliases: WeakSet<YamlNode>

  constructor(inBrackets: boolean, aliases: WeakSet<YamlNode>) {
    this.#aliases = aliases
    this.#map = new YamlNode("map", { tag: Tag.map, style: inBrackets ? Style.flow : Style.plain })
  }

  /** The complete map. Its own keys override those of merged maps, of which the first overrides the others. */
  get object(): YamlNode {
    const map = this.#map
    if (this.#merged === undefined) return map
    const own = new Set(map.content.filter((_, i) => i % 2 === 0).map((key) => key.value))
    for (const merged of mapsToMerge(this.#merged, this.#aliases))
      for (let i = 0; i + 1 < merged.content.length; i += 2) {
        const key = merged.content[i]!
        if (!own.has(key.value)) setEntry(map, key.copy(), merged.content[i + 1]!.copy())
      }
    return map
  }

  set({ value, line, merges }: Node, { value: member }: Node): void {
    const [key, node] = [value as YamlNode, member as YamlNode]
    key.line = line + 1
    if (!merges) this.#map.content.push(key, node)
    else if (this.#merged === undefined) this.#merged = node
    else throw new MergeKeyError("duplicate merge key")
  }
}

/** Returns the maps that a `<<` key merges, the one that overrides the others last. */
function mapsToMerge(value: YamlNode, aliases: WeakSet<YamlNode>): readonly YamlNode[] {
  if (value.kind === "map") return [value]
  if (aliases.has(value)) throw new MergeKeyError("invalid map merge: received alias for a non-map value")
  if (value.kind === "scalar") throw new MergeKeyError("map merge requires map or sequence of maps as the value")
  return value.content.toReversed().flatMap((item) => {
    if (item.kind === "list") throw new MergeKeyError("invalid map merge: received a nested sequence")
    return mapsToMerge(item, aliases)
  })
}

/** Returns whether a text has nothing but space and comments. */
function isMissingDocument(text: string): boolean {
  for (const { 0: line } of text.matchAll(/[^\r\n\ufeff]+/g)) if (!/^[ \t]*(?:#|$)/.test(line)) return false
  return true
}
