/** Reads and writes the data of ConfigMaps and Secrets. Source: kyaml yaml/datamap.go. */
import { Buffer } from "node:buffer"
import { inByteOrder } from "../go/byte-order.ts"
import { clearField, get, setField } from "../node/fields.ts"
import { lookupCreate } from "../node/lookup.ts"
import { Style, Tag, textOf, YamlNode } from "../node/yaml-node.ts"

/** Values of a generated object by key: text, or bytes that are no text. */
export type Data = ReadonlyMap<string, string | Uint8Array>

/** Sets the values of a ConfigMap: text in `data`, other bytes in `binaryData`. */
export function setConfigMapData(node: YamlNode, data: Data): void {
  for (const [key, value] of sorted(data)) {
    const isText = typeof value === "string"
    setField(
      lookupCreate(node, "map", [isText ? "data" : "binaryData"]),
      key,
      valueNode(isText ? value : base64(value)),
    )
  }
}

/** Sets the values of a Secret, all in base64. */
export function setSecretData(node: YamlNode, data: Data): void {
  const map = lookupCreate(node, "map", ["data"])
  for (const [key, value] of sorted(data)) setField(map, key, valueNode(base64(value)))
}

const sorted = <T>(data: ReadonlyMap<string, T>): readonly (readonly [string, T])[] =>
  [...data].toSorted(([a], [b]) => inByteOrder(a, b))

const valueNode = (value: string): YamlNode =>
  new YamlNode("scalar", { tag: Tag.text, value, style: value.includes("\n") ? Style.literal : Style.plain })

/** The length of a line in base64. Source: kyaml yaml/datamap.go encodeBase64. */
const LINE = 70

/** Returns bytes in base64, in lines if they are too many for one. */
function base64(value: string | Uint8Array): string {
  const text = Buffer.from(value as string).toString("base64")
  if (text.length < LINE) return text
  return text.replace(new RegExp(`.{1,${LINE}}`, "g"), "$&\n")
}

/** Returns the values of `data` or `binaryData` of an object. */
export function dataOf(node: YamlNode, field: "data" | "binaryData"): Map<string, string> {
  const values = new Map<string, string>()
  const content = get(node, field)?.content ?? []
  for (let i = 0; i + 1 < content.length; i += 2) values.set(textOf(content[i]), textOf(content[i + 1]))
  return values
}

/** Replaces the values of `data` or `binaryData`. */
export function replaceData(node: YamlNode, field: "data" | "binaryData", data: ReadonlyMap<string, string>): void {
  clearField(node, field)
  for (const [key, value] of sorted(data)) setField(lookupCreate(node, "map", [field]), key, valueNode(value))
}
