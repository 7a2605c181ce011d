import type { ResourcePrinter } from "./printer.ts"
import type { PrinterParts, TemplateValues } from "./template-flags.ts"

/** Returns the printer of a format by a template: `jsonpath={.metadata.name}`, or with `--template`. */
export function templatePrinterOf(
  format: string,
  _values: TemplateValues,
  _parts: PrinterParts,
): Promise<ResourcePrinter> {
  return Promise.reject(new Error(`the output format ${format} is not there yet`))
}
