/** What a node of a YAML document is. Documents and aliases are gone once a text is read. */
export type NodeKind = "scalar" | "map" | "list"

/** How a node is written, as bits: a scalar in quotes, a collection in brackets. */
export const Style = { plain: 0, tagged: 1, double: 2, single: 4, literal: 8, folded: 16, flow: 32 } as const

export const Tag = {
  none: "",
  null: "!!null",
  bool: "!!bool",
  text: "!!str",
  int: "!!int",
  float: "!!float",
  timestamp: "!!timestamp",
  map: "!!map",
  list: "!!seq",
  binary: "!!binary",
  merge: "!!merge",
} as const

export interface NodeFields {
  readonly tag?: string
  readonly value?: string
  readonly style?: number
  readonly content?: YamlNode[]
}

/**
 * A node of a YAML document, which transformers change in place. Tag, text and style are kept beside each other, since
 * kustomize copies them one by one, and what a scalar is (`1` or `"1"`) follows from all three. Source:
 * go.yaml.in/yaml/v3 yaml.go Node.
 */
export class YamlNode {
  kind: NodeKind
  /** Empty when the text decides. */
  tag: string
  /** The text of a scalar. */
  value: string
  style: number
  /** The items of a list; keys and values of a map by turns. */
  content: YamlNode[]
  anchor = ""
  /** The line where the node begins, from 1; 0 for a node that was made. */
  line = 0

  constructor(kind: NodeKind, { tag = "", value = "", style = Style.plain, content = [] }: NodeFields = {}) {
    this.kind = kind
    this.tag = tag
    this.value = value
    this.style = style
    this.content = content
  }

  /** Takes over everything from another node. The members are shared with it. */
  assign(other: YamlNode): void {
    if (other === this) return
    this.kind = other.kind
    this.tag = other.tag
    this.value = other.value
    this.style = other.style
    this.content = [...other.content]
    this.anchor = other.anchor
    this.line = other.line
  }

  copy(): YamlNode {
    const copy = new YamlNode(this.kind, this)
    copy.anchor = this.anchor
    copy.line = this.line
    copy.content = this.content.map((member) => member.copy())
    return copy
  }
}

/** Returns a scalar whose type its text decides. */
export const scalar = (value: string): YamlNode => new YamlNode("scalar", { value })

/** Returns a scalar that is text, whatever it looks like. */
export const textScalar = (value: string): YamlNode =>
  new YamlNode("scalar", { value, tag: Tag.text, style: value.includes("\n") ? Style.literal : Style.plain })

export const isNull = (node: YamlNode | undefined): boolean => node === undefined || node.tag === Tag.null

export const isEmptyMap = (node: YamlNode | undefined): boolean =>
  node === undefined || node.tag === Tag.null || (node.kind === "map" && node.content.length === 0)

/** Returns whether a node is missing, null, or a collection without members. */
export const isEmpty = (node: YamlNode | undefined): boolean =>
  node === undefined || node.tag === Tag.null || (node.kind !== "scalar" && node.content.length === 0)

/** Returns the text of a scalar; "" for null. */
export const textOf = (node: YamlNode | undefined): string => (node === undefined || isNull(node) ? "" : node.value)

/** Returns whether a scalar is text by its tag, or has no tag. */
export const isText = (node: YamlNode): boolean =>
  node.kind === "scalar" && (node.tag === Tag.text || node.tag === Tag.none)

const KIND_NAMES: Readonly<Record<NodeKind, string>> = {
  scalar: "ScalarNode",
  map: "MappingNode",
  list: "SequenceNode",
}
export const kindName = (kind: NodeKind): string => KIND_NAMES[kind]
