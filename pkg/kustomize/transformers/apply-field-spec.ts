/** Finds the fields that a field spec means. Source: kustomize api/filters/fieldspec/fieldspec.go. */
import type { FieldSpec } from "../config/field-spec.ts"
import { get, items } from "../node/fields.ts"
import { withPrefix } from "../node/errors.ts"
import { lookupCreate } from "../node/lookup.ts"
import { splitPath } from "../node/paths.ts"
import { Tag, type NodeKind, type YamlNode } from "../node/yaml-node.ts"
import { parseApiVersion } from "../resource/gvk.ts"
import { metaText, topText } from "../resource/metadata.ts"
import { idText } from "../resource/res-id.ts"

export interface FieldChange {
  /** Changes the node of the field. */
  readonly set: (node: YamlNode) => void
  /** The kind of a field that is created. Without it none is. */
  readonly createKind?: NodeKind
  readonly createTag?: string
}

/** Changes the fields of an object that a field spec means, if the spec is for its kind. */
export function applyFieldSpec(object: YamlNode, spec: FieldSpec, change: FieldChange): void {
  if (!isFor(spec, object)) return
  const visitor = new Visitor(spec, change)
  try {
    visitor.visit(object, splitPath(spec.path, "/"))
  } catch (err) {
    withPrefix(`considering field '${spec.path}' of object ${objectText(object)}`, () => {
      throw err
    })
  }
}

export function applyFieldSpecs(object: YamlNode, specs: readonly FieldSpec[], change: FieldChange): void {
  for (const spec of specs) applyFieldSpec(object, spec, change)
}

function isFor(spec: FieldSpec, object: YamlNode): boolean {
  if (spec.kind !== "" && spec.kind !== topText(object, "kind")) return false
  if (spec.group === "" && spec.version === "") return true
  const { group, version } = parseApiVersion(topText(object, "apiVersion"))
  return (spec.group === "" || spec.group === group) && (spec.version === "" || spec.version === version)
}

const objectText = (object: YamlNode): string =>
  idText({
    ...parseApiVersion(topText(object, "apiVersion")),
    kind: topText(object, "kind"),
    name: metaText(object, "name"),
    namespace: metaText(object, "namespace"),
    isClusterScoped: false,
  })

class Visitor {
  readonly #spec: FieldSpec
  readonly #change: FieldChange

  constructor(spec: FieldSpec, change: FieldChange) {
    this.#spec = spec
    this.#change = change
  }

  visit(node: YamlNode, path: readonly string[]): void {
    if (path.length === 0) return this.#change.set(node)
    if (node.tag === Tag.null) return
    if (node.kind === "map") return this.#visitMap(node, path)
    if (node.kind !== "list") throw new Error("expected sequence or mapping node")
    withPrefix(`visit traversal on path: [${path.join(" ")}]`, () => {
      for (const item of items(node)) this.visit(item, path)
    })
  }

  #visitMap(map: YamlNode, [first, ...rest]: readonly string[]): void {
    const name = first!.replace(/\[\]$/, "")
    if (name === "") throw new Error("cannot set or create an empty field name")
    const isList = name !== first
    const { createKind, createTag = Tag.none } = this.#change
    const creates = this.#spec.create && createKind !== undefined && !isList
    const kind: NodeKind | undefined = creates ? (rest.length === 0 ? createKind : "map") : isList ? "list" : undefined
    const field = withPrefix(`fieldName: ${name}`, () => (creates ? lookupCreate(map, kind!, [name]) : get(map, name)))
    if (field === undefined) return
    if (field.tag === Tag.null && kind !== undefined) {
      field.kind = kind
      field.tag = creates ? (rest.length === 0 ? createTag : Tag.map) : Tag.none
    }
    this.visit(field, rest)
  }
}
