import type { ResourcePrinter } from "./printer.ts"
import type { PrinterParts } from "./template-flags.ts"

/** Returns the printer of `custom-columns=NAME:.metadata.name` and of `custom-columns-file=FILE`. */
export function customColumnsPrinter(
  format: string,
  _options: { readonly noHeaders: boolean; readonly template: string; readonly parts: PrinterParts },
): Promise<ResourcePrinter> {
  return Promise.reject(new Error(`the output format ${format} is not there yet`))
}
