import { jsonFault } from "../apimachinery/json/json-fault.ts"
import { quoted } from "../go-fmt/quote.ts"
import { Evaluator } from "./evaluation.ts"
import { listed, quote, type Fault } from "./faults.ts"
import { metaschemaAt } from "./metaschemas.ts"
import { addressOf, SchemaDocument, type SchemaNode } from "./schema-document.ts"
import { SchemaSet } from "./schema-set.ts"
import { checkDepth, Work } from "./work.ts"

/**
 * Judges a value of plain JSON by a schema of the drafts 4, 6, 7, 2019-09 or 2020-12. Returns what is wrong with it,
 * one fault in a line; undefined where nothing is. Nothing is read or fetched. Source of rules and words:
 * santhosh-tekuri/jsonschema v6.
 * @param url the address of the schema, which messages name
 * @throws Error where the schema is none, or asks for too much work
 */
export function judge(schema: string, url: string, value: unknown): string | undefined {
  const work = new Work()
  const document = new SchemaDocument(url, parsed(schema))
  const checkSchema = (node: SchemaNode) => checkByDraft(node, work)
  checkSchema(document.root)
  const set = new SchemaSet(document.root, checkSchema)
  checkDepth(value)
  const fault = new Evaluator(set, work).start(document.root, value)
  return fault === undefined ? undefined : listed(causesOf(fault))
}

const causesOf = (fault: Fault): readonly Fault[] => (fault.kind === "group" ? fault.causes : [fault])

function parsed(text: string): unknown {
  let made: unknown
  try {
    made = JSON.parse(text)
  } catch {
    throw new Error(jsonFault(text))
  }
  checkDepth(made)
  return made
}

function checkByDraft(node: SchemaNode, work: Work): void {
  const { root } = metaschemaAt(node.resource.draft.url)!
  const fault = new Evaluator(new SchemaSet(root, () => undefined), work).start(root, node.schema)
  if (fault === undefined) return
  const failed = `jsonschema validation failed with ${quote(addressOf(root))}`
  throw new Error(`${quoted(addressOf(node))} is not valid against metaschema: ${failed}\n${listed(causesOf(fault))}`)
}
