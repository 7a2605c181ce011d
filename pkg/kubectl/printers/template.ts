import { bytesOf } from "../../go-fmt/go-bytes.ts"
import { goJson } from "../../go-fmt/go-json.ts"
import { goFloat, isGoMap, numberOf } from "../../go-fmt/go-number.ts"
import { quoted } from "../../go-fmt/quote.ts"
import { goSyntaxOf, sprint } from "../../go-fmt/sprintf.ts"
import { GoTemplate } from "../../go-template/go-template.ts"
import { TemplateError } from "../../go-template/template-error.ts"
import { JsonPathError } from "../../jsonpath/jsonpath-error.ts"
import { JsonPath } from "../../jsonpath/jsonpath.ts"
import type { Unstructured } from "../rest/json.ts"
import { isTyped, isWatchEvent, type ResourcePrinter } from "./printer.ts"
import { KUBECTL_FUNCTIONS } from "./template-functions.ts"
import type { PrinterParts, TemplateValues } from "./template-flags.ts"

const JSONPATH_FORMATS = ["jsonpath", "jsonpath-as-json", "jsonpath-file"]
const GO_TEMPLATE_FORMATS = ["go-template", "go-template-file", "template", "templatefile"]
const FILE_FORMATS = ["go-template-file", "jsonpath-file", "templatefile"]

/**
 * Returns the printer of a format by a template: `jsonpath={.metadata.name}`, or with `--template`. Undefined for
 * another format. Source: cli-runtime pkg/genericclioptions/kube_template_flags.go.
 */
export async function templatePrinterOf(
  format: string,
  values: TemplateValues,
  parts: PrinterParts,
): Promise<ResourcePrinter | undefined> {
  const { name, template } = splitFormat(format, values.template, [...JSONPATH_FORMATS, ...GO_TEMPLATE_FORMATS])
  const isJsonPath = JSONPATH_FORMATS.includes(name)
  if (!isJsonPath && !GO_TEMPLATE_FORMATS.includes(name)) return undefined
  if (template === "") throw new Error("template format specified but no template given")
  const text = FILE_FORMATS.includes(name) ? await readTemplate(template, parts) : template
  const allowMissingKeys = values["allow-missing-template-keys"]
  return isJsonPath
    ? jsonPathPrinter(text, { allowMissingKeys, outputJson: name === "jsonpath-as-json" })
    : goTemplatePrinter(text, allowMissingKeys)
}

/** Splits `jsonpath={.metadata.name}`, unless the template has a flag of its own. */
export function splitFormat(
  format: string,
  template: string,
  names: readonly string[],
): { readonly name: string; readonly template: string } {
  if (template !== "") return { name: format, template }
  const at = format.indexOf("=")
  const name = at === -1 ? format : format.slice(0, at)
  return names.includes(name) ? { name, template: at === -1 ? "" : format.slice(at + 1) } : { name: format, template }
}

async function readTemplate(path: string, parts: PrinterParts): Promise<string> {
  try {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(await parts.readFile(path))
  } catch (err) {
    throw new Error(`error reading --template ${path}, ${(err as Error).message}`, { cause: err })
  }
}

/** Prints what a JSONPath finds. Source: cli-runtime pkg/printers/jsonpath.go. */
function jsonPathPrinter(
  template: string,
  options: { readonly allowMissingKeys: boolean; readonly outputJson: boolean },
): ResourcePrinter {
  const path = parsed("jsonpath", template, () => new JsonPath(template, options))
  return {
    print(object, out) {
      const data = contentOf(object)
      let text: string
      try {
        text = path.execute(isTyped(object) || isWatchEvent(object) ? withFloats(data) : data)
      } catch (err) {
        if (!(err instanceof JsonPathError)) throw err
        throw new Error(
          `error executing jsonpath ${quoted(template)}: Error executing template: ${err.message}. Printing more information for debugging the template:\n\ttemplate was:\n\t\t${template}\n\tobject given to jsonpath engine was:\n\t\t${goSyntaxOf(data)}\n\n\n`,
          { cause: err },
        )
      }
      return out.write(outputOf(text))
    },
  }
}

/** Prints what a template of Go makes. Source: cli-runtime pkg/printers/template.go. */
function goTemplatePrinter(text: string, allowMissingKeys: boolean): ResourcePrinter {
  const template = parsed("template", text, () => new GoTemplate("output", text, KUBECTL_FUNCTIONS))
  return {
    async print(object, out) {
      const data = contentOf(object)
      let written = ""
      try {
        template.execute(data, (part) => (written += part), allowMissingKeys ? "default" : "error")
      } catch (err) {
        if (!(err instanceof TemplateError)) throw err
        const debugging = `Error executing template: ${err.message}. Printing more information for debugging the template:\n\ttemplate was:\n\t\t${text}\n\traw data was:\n\t\t${goJson(data, { sorted: !isTyped(object) })}\n\tobject given to template engine was:\n\t\t${sprint([data])}\n\n`
        await out.write(outputOf(written + debugging))
        throw new Error(`error executing template ${quoted(text)}: ${err.message}`, { cause: err })
      }
      await out.write(outputOf(written))
    },
  }
}

/** Returns a text, or its bytes where some of them are no characters. */
const outputOf = (text: string): string | Uint8Array => (text.isWellFormed() ? text : bytesOf(text))

function parsed<T>(what: string, template: string, parse: () => T): T {
  try {
    return parse()
  } catch (err) {
    throw new Error(`error parsing ${what} ${template}, ${(err as Error).message}`, { cause: err })
  }
}

/** Returns the object that a template sees: an event of a watch has its type beside its object. */
export const contentOf = (object: Unstructured): Unstructured =>
  isWatchEvent(object) ? { type: object.type, object: object.object } : object

/** Returns a value whose numbers are floats, as encoding/json reads all numbers of typed objects. */
function withFloats(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withFloats)
  if (isGoMap(value)) return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withFloats(each)]))
  const number = numberOf(value)
  return number === undefined ? value : goFloat(Number(number.value))
}
