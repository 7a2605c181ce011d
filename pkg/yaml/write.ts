import { ExactNumber } from "../apimachinery/json/exact-number.ts"
import { RawJson } from "../apimachinery/json/raw-json.ts"
import { byNaturalOrder } from "./key-order.ts"
import { LineWriter } from "./line-writer.ts"
import { isSimpleKey, writeScalar } from "./write-scalar.ts"

/**
 * Returns a JSON value as YAML, byte for byte as Kubernetes writes it: keys in order, lists not indented under their
 * key, and in quotes all text that a reader of YAML 1.1 would read as another type (`yes`, `12:30`, `2020-01-01`).
 * Source of the behaviour: sigs.k8s.io/yaml over go.yaml.in/yaml/v2 encode.go and emitterc.go.
 */
export function writeYaml(value: unknown): string {
  const out = new LineWriter()
  writeNode(out, value, 0, "nothing")
  out.startLine(0)
  return out.text
}

/**
 * Yields `head` with the list `field` in it as YAML, in parts: one for each item, with what stands before it, and one
 * for what stands after all. Together they are the text that `writeYaml` returns for the whole.
 */
export function* yamlInParts<T>({
  head,
  field,
  items,
  itemOf,
}: {
  readonly head: object
  readonly field: string
  readonly items: readonly T[]
  readonly itemOf: (item: T) => object
}): Generator<string, void, undefined> {
  const out = new LineWriter()
  for (const [key, value] of entriesOf({ ...head, [field]: items })) {
    out.startLine(0)
    writeScalar(out, key, STEP, true)
    out.put(":")
    if (key !== field || items.length === 0) {
      writeNode(out, value, 0, "key")
      continue
    }
    for (const item of items) {
      out.startLine(0)
      out.put("-")
      writeNode(out, itemOf(item), 0, "dash")
      yield out.take()
    }
  }
  out.startLine(0)
  yield out.take()
}

/** The number of columns by which a level of the tree is indented. */
const STEP = 2

/** What comes before a node on its line. The colon is that of a key that has a line for itself. */
type Before = "nothing" | "key" | "dash" | "colon"

function writeNode(out: LineWriter, node: unknown, indent: number, before: Before): void {
  const value = node instanceof RawJson ? node.value : node
  if (before !== "nothing" && isOnOneLine(value)) out.put(" ")
  if (typeof value !== "object" || value === null || value instanceof ExactNumber)
    writeScalar(out, value, indent + STEP)
  else if (Array.isArray(value)) writeList(out, value, indent, before)
  else writeMap(out, value, indent, before)
}

/** Writes a list in the column of its key. */
function writeList(out: LineWriter, items: readonly unknown[], indent: number, before: Before): void {
  if (items.length === 0) return out.put("[]")
  const column = before === "nothing" || before === "key" ? indent : indent + STEP
  for (const [i, item] of items.entries()) {
    startMember(out, column, i === 0 ? before : "nothing")
    out.put("-")
    writeNode(out, item, column, "dash")
  }
}

function writeMap(out: LineWriter, map: object, indent: number, before: Before): void {
  const entries = entriesOf(map)
  if (entries.length === 0) return out.put("{}")
  const column = before === "nothing" ? indent : indent + STEP
  for (const [i, [key, value]] of entries.entries()) {
    startMember(out, column, i === 0 ? before : "nothing")
    if (isSimpleKey(key)) {
      writeScalar(out, key, column + STEP, true)
      out.put(":")
      writeNode(out, value, column, "key")
    } else {
      out.put("? ")
      writeScalar(out, key, column + STEP)
      out.startLine(column)
      out.put(":")
      writeNode(out, value, column, "colon")
    }
  }
}

/** Starts the first member of a collection on the same line, after a dash or after a colon that begins its line. */
function startMember(out: LineWriter, column: number, before: Before): void {
  if (before === "dash" || before === "colon") out.put(" ")
  else out.startLine(column)
}

const isOnOneLine = (value: unknown): boolean =>
  typeof value !== "object" ||
  value === null ||
  value instanceof ExactNumber ||
  (Array.isArray(value) ? value.length === 0 : isEmpty(value))

function isEmpty(map: object): boolean {
  for (const key in map) if ((map as Readonly<Record<string, unknown>>)[key] !== undefined) return false
  return true
}

/** Undefined values are left out. */
const entriesOf = (map: object): readonly (readonly [string, unknown])[] =>
  Object.entries(map)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => byNaturalOrder(a, b))
