import { pushAll } from "../../lists/push-all.ts"
import { errorMessage } from "../../errors/error-message.ts"
import { goType } from "../../apimachinery/go/go-text.ts"
import { fieldOf } from "../node/fields.ts"
import { fromValue } from "../node/from-value.ts"
import { MergeKeyError, readNode } from "../node/read-nodes.ts"
import { toValue } from "../node/to-value.ts"
import { isEmpty, isNull, textOf, type YamlNode } from "../node/yaml-node.ts"
import type { Schemas } from "../schema/schemas.ts"
import { checkMetadata } from "./metadata.ts"
import { Resource } from "./resource.ts"

/**
 * Returns the objects in a text: YAML or JSON, several documents, lists of objects. Source: kustomize
 * api/resource/factory.go SliceFromBytes.
 * @throws Error in kustomize's words
 */
export function readResources(text: string, schemas: Schemas): readonly Resource[] {
  return inlineLists(dropEmpty(readDocuments(text))).map((node) => new Resource(node, schemas))
}

/** Returns the objects in a text that came from a file. Errors name the file. */
export function readResourcesOf(path: string, text: string, schemas: Schemas): readonly Resource[] {
  try {
    return readResources(text, schemas)
  } catch (err) {
    const message = errorMessage(err)
    if (!message.includes("MalformedYAMLError")) throw err
    throw new Error(`${message} in File: ${path}`, { cause: err })
  }
}

/** Source: kyaml kio/byteio_reader.go. */
function readDocuments(text: string): YamlNode[] {
  const documents = splitDocuments(text.replaceAll("\r\n", "\n"))
  const nodes: YamlNode[] = []
  for (const [i, document] of documents.entries()) {
    const node = readDocument(i === documents.length - 1 ? document : `${document}\n`)
    if (node === undefined || isNull(node)) continue
    const kind = textOf(fieldOf(node, "kind"))
    const isList =
      documents.length === 1 &&
      (kind === "ResourceList" || kind === "List") &&
      (fieldOf(node, "items") !== undefined || fieldOf(node, "functionConfig") !== undefined)
    if (isList) pushAll(nodes, fieldOf(node, "items")?.content ?? [])
    else nodes.push(node)
  }
  return nodes
}

function readDocument(text: string): YamlNode | undefined {
  try {
    return readNode(text)
  } catch (err) {
    if (err instanceof MergeKeyError) throw err
    throw new Error(`MalformedYAMLError: ${errorMessage(err)}`, { cause: err })
  }
}

/** A line that begins with `---` separates documents. */
function splitDocuments(text: string): readonly string[] {
  const documents: string[] = []
  let from = 0
  for (const { 0: separator, index } of text.matchAll(/\n---.*(?=\n)/g)) {
    if (index < from - 1) continue
    const rest = separator.slice(4).trim()
    if (rest !== "" && !rest.startsWith("#")) throw new Error(`invalid document separator: ${separator.trim()}`)
    if (index < from) continue
    documents.push(text.slice(from, index))
    from = index + separator.length + 1
  }
  documents.push(text.slice(from))
  return documents
}

function dropEmpty(nodes: readonly YamlNode[]): readonly YamlNode[] {
  const kept = nodes.filter((node) => !isEmpty(node))
  for (const node of kept) checkMetadata(node)
  return kept
}

/** Replaces lists of a kind, such as ConfigMapList, by their items, which come after all other objects. */
function inlineLists(nodes: readonly YamlNode[]): readonly YamlNode[] {
  const queue = [...nodes]
  const objects: YamlNode[] = []
  for (let node = queue.shift(); node !== undefined; node = queue.shift()) {
    const kind = fieldOf(node, "kind")?.value ?? ""
    const items = kind.endsWith("List") ? fieldOf(node, "items") : undefined
    if (items === undefined) {
      objects.push(node)
      continue
    }
    if (isNull(items)) continue
    if (items.kind !== "list") throw new Error(`expected array in ${kind}/items, but found ${goType(toValue(items))}`)
    for (const item of items.content) pushAll(queue, dropEmpty([fromValue(toValue(item))]))
  }
  return objects
}
