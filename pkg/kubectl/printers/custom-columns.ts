import { sprint } from "../../go-fmt/sprintf.ts"
import { JsonPath } from "../../jsonpath/jsonpath.ts"
import { relaxedJsonPath } from "../../jsonpath/relaxed.ts"
import { isList, type Unstructured } from "../rest/json.ts"
import { noPrinter } from "./print-flags.ts"
import { isWatchEvent, type ResourcePrinter } from "./printer.ts"
import { newTabWriter, TabWriter } from "./tab-writer.ts"
import { escaped } from "./table.ts"
import { contentOf, splitFormat } from "./template.ts"
import type { PrinterParts } from "./template-flags.ts"

export const CUSTOM_COLUMNS_FORMATS = ["custom-columns", "custom-columns-file"]

const NO_COLUMNS = "custom-columns format specified but no custom columns given"

/** A column has a header, and a JSONPath for its cells. */
interface CustomColumn {
  readonly header: string
  readonly path: string
}

/**
 * Returns the printer of `custom-columns=NAME:.metadata.name` and of `custom-columns-file=FILE`. Source: kubectl
 * pkg/cmd/get/customcolumn_flags.go.
 */
export async function customColumnsPrinter(
  format: string,
  {
    noHeaders,
    template: flag,
    parts,
  }: { readonly noHeaders: boolean; readonly template: string; readonly parts: PrinterParts },
): Promise<ResourcePrinter> {
  const { name, template } = splitFormat(format, flag, CUSTOM_COLUMNS_FORMATS)
  if (!CUSTOM_COLUMNS_FORMATS.includes(name)) throw noPrinter(name, CUSTOM_COLUMNS_FORMATS)
  if (template === "") throw new Error(NO_COLUMNS)
  if (name === "custom-columns") return printerOf(columnsOfSpec(template), noHeaders)
  return printerOf(columnsOfFile(await readColumns(template, parts)), false)
}

async function readColumns(path: string, parts: PrinterParts): Promise<string> {
  try {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(await parts.readFile(path))
  } catch (err) {
    throw new Error(`error reading template ${path}, ${(err as Error).message}\n`, { cause: err })
  }
}

function columnsOfSpec(spec: string): readonly CustomColumn[] {
  return spec.split(",").map((part) => {
    const at = part.indexOf(":")
    if (at === -1) throw new Error(`unexpected custom-columns spec: ${part}, expected <header>:<json-path-expr>`)
    return { header: part.slice(0, at), path: relaxedJsonPath(part.slice(at + 1)) }
  })
}

const FORM = "Expected format is one line of space separated headers, one line of space separated column specs."

/** The first line of a file has the headers, the second the paths. */
function columnsOfFile(text: string): readonly CustomColumn[] {
  const [head, line] = text.split("\n", 2)
  if (text === "") throw new Error(`invalid template, missing header line. ${FORM}`)
  if (line === undefined || (line === "" && text.endsWith("\n") && text.indexOf("\n") === text.length - 1))
    throw new Error(`invalid template, missing spec line. ${FORM}`)
  const [headers, paths] = [wordsOf(head ?? ""), wordsOf(line)]
  if (headers.length !== paths.length)
    throw new Error(`number of headers (${headers.length}) and field specifications (${paths.length}) don't match`)
  return headers.map((header, i) => ({ header, path: relaxedJsonPath(paths[i]!) }))
}

const wordsOf = (line: string): readonly string[] => line.split(/\s+/).filter((word) => word !== "")

/** Prints one line for each object. Headers come again for another type of object: a list, or one object. */
function printerOf(columns: readonly CustomColumn[], noHeaders: boolean): ResourcePrinter {
  let lastType: string | undefined
  return {
    async print(object, output) {
      const out = output instanceof TabWriter ? output : newTabWriter(output)
      try {
        const type = isWatchEvent(object) ? "event" : isList(object) ? "list" : "object"
        if (!noHeaders && type !== lastType) {
          await out.write(`${columns.map(({ header }) => header).join("\t")}\n`)
          lastType = type
        }
        const paths = columns.map(({ path }) => new JsonPath(path, { allowMissingKeys: true }))
        for (const each of !isWatchEvent(object) && isList(object) ? object.items : [object])
          await out.write(`${paths.map((path) => cellOf(path, each)).join("\t")}\n`)
      } finally {
        if (out !== output) await out.flush()
      }
    },
  }
}

function cellOf(path: JsonPath, object: Unstructured): string {
  const results = path.findResults(contentOf(object))
  const isMissing = (results[0] ?? []).length === 0
  const texts = results.flat().map((value) => escaped(sprint([value ?? null])))
  return [...(isMissing ? ["<none>"] : []), ...texts].join(",")
}
