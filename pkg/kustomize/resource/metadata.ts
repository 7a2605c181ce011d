/** Reads and writes what every object has. Source: kyaml yaml/rnode.go. */
import { goText } from "../../apimachinery/go/go-text.ts"
import { inByteOrder } from "../go/byte-order.ts"
import { clearField, fieldOf, get, setField } from "../node/fields.ts"
import { lookupCreate } from "../node/lookup.ts"
import { isEmpty, isNull, scalar, textOf, textScalar, type YamlNode } from "../node/yaml-node.ts"

export type Texts = Readonly<Record<string, string>>

/** Returns the text of a field at the top of an object; "" when there is none. */
export const topText = (node: YamlNode | undefined, field: "apiVersion" | "kind"): string =>
  fieldOf(node, field)?.value ?? ""

/** Returns the text of a field of the metadata; "" when there is none. */
export function metaText(node: YamlNode | undefined, field: "name" | "namespace"): string {
  const value = fieldOf(metadataOf(node), field)
  return isEmpty(value) ? "" : value!.value
}

function metadataOf(node: YamlNode | undefined): YamlNode | undefined {
  if (isNull(node)) return undefined
  const metadata = fieldOf(node, "metadata")
  return isEmpty(metadata) ? undefined : metadata
}

/** Returns the annotations or labels of an object. */
export function metaMap(node: YamlNode | undefined, field: "annotations" | "labels"): Record<string, string> {
  const map: Record<string, string> = {}
  const content = fieldOf(metadataOf(node), field)?.content ?? []
  for (let i = 0; i + 1 < content.length; i += 2) map[content[i]!.value] = content[i + 1]!.value
  return map
}

/** Returns the value of one annotation. */
export const annotationOf = (node: YamlNode | undefined, name: string): string | undefined =>
  fieldOf(fieldOf(metadataOf(node), "annotations"), name)?.value

/** Replaces the annotations or labels of an object. Without any the field is removed. */
export function setMetaMap(node: YamlNode, field: "annotations" | "labels", map: Texts): void {
  const metadata = lookupCreate(node, "map", ["metadata"])
  clearField(metadata, field)
  const names = Object.keys(map)
  if (names.length === 0) return
  const target = lookupCreate(metadata, "map", [field])
  for (const name of names.toSorted(inByteOrder)) setField(target, name, textScalar(map[name]!))
}

export function setTop(node: YamlNode, field: "apiVersion" | "kind", value: string): void {
  setField(node, field, scalar(value))
}

export function setMeta(node: YamlNode, field: "name" | "namespace", value: string): void {
  setField(lookupCreate(node, "map", ["metadata"]), field, scalar(value))
}

/** Sets the namespace; an empty one removes the field. */
export function setNamespace(node: YamlNode, namespace: string): void {
  if (namespace === "") clearField(get(node, "metadata"), "namespace")
  else setMeta(node, "namespace", namespace)
}

/**
 * Checks that a node is an object: it has a kind and a name, or is a list.
 * @throws Error in kustomize's words
 */
export function checkMetadata(node: YamlNode): void {
  if (isNull(node)) throw new Error(`missing kind in object ${metaForm(node)}`)
  const metadata = fieldOf(node, "metadata")
  const has = (holder: YamlNode | undefined, field: string) => !isEmpty(fieldOf(holder, field))
  const isMissing =
    !has(node, "apiVersion") &&
    !has(node, "kind") &&
    (isEmpty(metadata) || !["name", "namespace", "labels", "annotations"].some((field) => has(metadata, field)))
  if (isMissing) throw new Error("missing Resource metadata")
  const kind = shown(node, "kind")
  if (kind === "") throw new Error(`missing kind in object ${metaForm(node)}`)
  if (!kind.endsWith("List") && metaText(node, "name") === "")
    throw new Error(`missing metadata.name in object ${metaForm(node)}`)
}

const shown = (node: YamlNode, field: string): string => textOf(fieldOf(node, field))

/** Returns the metadata as Go's `%v` shows it. */
function metaForm(node: YamlNode): string {
  const map = (field: "annotations" | "labels") => goText(metaMap(node, field))
  return (
    `{{${shown(node, "apiVersion")} ${shown(node, "kind")}} ` +
    `{{${metaText(node, "name")} ${metaText(node, "namespace")}} ${map("labels")} ${map("annotations")}}}`
  )
}
