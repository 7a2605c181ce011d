import { createRequire } from "node:module"
import { exactValue } from "../apimachinery/json/exact-number.ts"
import type * as yaml from "./yaml.ts"
import type { Mark } from "./cursor.ts"

/** One document of a manifest: a file with objects, in YAML or JSON. */
export interface ManifestDocument {
  /** Plain JSON; null for a document without content. What aliases stand for is shared: do not change it in place. */
  readonly value: unknown
  /** The line of the manifest where the document's content begins, from 1. */
  readonly line: number
}

/** The text of a manifest is not YAML. The message begins with the place: `line 3, column 8: …`. */
export class ManifestSyntaxError extends Error {
  override readonly name = "ManifestSyntaxError"

  /** `line` and `column` count from 0; without a column the fault is somewhere in the document that begins there. */
  constructor(problem: string, line: number, column?: number) {
    super(`line ${line + 1}${column === undefined ? "" : `, column ${column + 1}`}: ${problem}`)
  }
}

/** Loaded with the first manifest, since most tests and nodes have none. See pkg/cel/compile.ts for the two ways. */
const load = (): typeof yaml =>
  typeof require === "function"
    ? require("./yaml.ts") // oxlint-disable-line typescript/no-require-imports
    : createRequire(import.meta.url)("./yaml.ts")

/**
 * Returns the documents of a manifest, as kubectl and the kubelet read them: a line that begins with `---` separates
 * them, whatever it is a part of; of two equal keys in a map the last counts; a document that begins with a brace is
 * read as JSON, and as YAML if it is not JSON. Source: apimachinery pkg/util/yaml/decoder.go.
 * @throws ManifestSyntaxError
 */
export function readManifest(text: string): readonly ManifestDocument[] {
  const documents: ManifestDocument[] = []
  let start = 0
  let line = 0
  const add = (end: number) => {
    const document = text.slice(start, end)
    documents.push({ value: valueOf(document, line), line: line + linesBefore(document, document.search(CONTENT)) + 1 })
    line += linesBefore(document)
  }
  for (const { index, 0: separator } of text.matchAll(SEPARATOR)) {
    const rest = separator.slice(DASHES.length).trim()
    if (rest !== "" && !rest.startsWith("#"))
      throw new ManifestSyntaxError(
        `invalid Yaml document separator: ${rest}`,
        line + linesBefore(text.slice(start, index)),
        separator.indexOf(rest, DASHES.length),
      )
    // A separator before any text is part of the first document.
    if (index === start) continue
    add(index)
    start = index + separator.length + 1
    line++
  }
  if (start < text.length) add(text.length)
  return documents
}

const DASHES = "---"
const SEPARATOR = /(?<![^\n])---[^\n]*/g
/** Matches up to the first character of a document that is neither in a comment nor in a separator. */
const CONTENT = /^(?!---)[ \t]*[^\s#]/m

/** Returns the number of lines that end before a place in a text. */
function linesBefore(text: string, at = text.length): number {
  let lines = 0
  for (let next = text.indexOf("\n"); next !== -1 && next < at; next = text.indexOf("\n", next + 1)) lines++
  return lines
}

function valueOf(document: string, firstLine: number): unknown {
  if (document.trimStart().startsWith("{"))
    try {
      return JSON.parse(document, exactValue) as unknown
    } catch {
      // A map of YAML begins with a brace too.
    }
  const { parseYaml, YamlError } = load()
  try {
    return parseYaml(document).value
  } catch (err) {
    if (!(err instanceof YamlError)) throw err
    const { line, column }: Partial<Mark> = err.mark ?? {}
    throw new ManifestSyntaxError(err.problem, firstLine + (line ?? 0), column)
  }
}
