import { stringFlag, type FlagValues } from "../command/flag.ts"
import { jsonPrinter, yamlPrinter } from "./json-yaml.ts"
import { omitManagedFields } from "./managed-fields.ts"
import { namePrinter } from "./name.ts"
import type { ResourcePrinter } from "./printer.ts"
import { TEMPLATE_FORMATS, templateFlags, type PrinterParts, type TemplateValues } from "./template-flags.ts"

/** Formats of objects as a whole, in the order in which help names them. */
export const JSON_YAML_FORMATS = ["json", "yaml", "kyaml"]
export const PRINT_FORMATS = [...JSON_YAML_FORMATS, "name", ...TEMPLATE_FORMATS]

export const outputUsage = (formats: readonly string[]): string => `Output format. One of: (${formats.join(", ")}).`

/** `-o` and what belongs to it, for commands that change objects. Source: cli-runtime pkg/genericclioptions. */
export const printFlags = (fallback = "") => ({
  ...templateFlags,
  output: stringFlag(fallback, outputUsage(PRINT_FORMATS), { shorthand: "o" }),
})

export type PrintValues = FlagValues<ReturnType<typeof printFlags>>

/** Source: NoCompatiblePrinterError. */
export const noPrinter = (format: string, formats: readonly string[]): Error =>
  new Error(
    `unable to match a printer suitable for the output format ${JSON.stringify(format)}, allowed formats are: ${[...formats].sort().join(",")}`,
  )

/**
 * Returns the printer that the flags ask for; without a format that of messages, `pod/web created`.
 * @throws Error for a format that there is not
 */
export async function printerOf(values: PrintValues, operation: string, parts: PrinterParts): Promise<ResourcePrinter> {
  const { outputIsSet = values.output !== "" } = parts
  const format = values.template !== "" && !outputIsSet ? "go-template" : values.output
  const printer =
    jsonYamlPrinter(format, values) ??
    nameFlagPrinter(format, operation) ??
    (await templatePrinter(format, values, parts))
  if (printer === undefined) throw noPrinter(values.output, PRINT_FORMATS)
  return printer
}

/** Formats are in any case. */
export function jsonYamlPrinter(
  format: string,
  { "show-managed-fields": showManagedFields }: Pick<PrintValues, "show-managed-fields">,
): ResourcePrinter | undefined {
  const makers: Readonly<Record<string, () => ResourcePrinter>> = {
    json: () => jsonPrinter,
    yaml: yamlPrinter,
    kyaml: lazyKyaml,
  }
  const printer = makers[format.toLowerCase()]?.()
  return printer === undefined || showManagedFields ? printer : omitManagedFields(printer)
}

/** KYAML is loaded when it is asked for. */
function lazyKyaml(): ResourcePrinter {
  let made: Promise<ResourcePrinter> | undefined
  return {
    async print(object, out) {
      made ??= import("./kyaml.ts").then(({ kyamlPrinter }) => kyamlPrinter())
      await (await made).print(object, out)
    },
  }
}

export function nameFlagPrinter(format: string, operation: string): ResourcePrinter | undefined {
  const name = format.toLowerCase()
  if (name !== "" && name !== "name") return undefined
  if (name === "" && operation === "") return undefined
  return namePrinter({ operation, short: name === "name" })
}

/** Templates are loaded when they are asked for. Undefined for other formats. */
export async function templatePrinter(
  format: string,
  values: TemplateValues,
  parts: PrinterParts,
): Promise<ResourcePrinter | undefined> {
  if (values.template === "" && format === "") return undefined
  const name = format.split("=", 1)[0]!
  if (!TEMPLATE_FORMATS.includes(name)) return undefined
  const { templatePrinterOf } = await import("./template.ts")
  return templatePrinterOf(format, values, parts)
}
