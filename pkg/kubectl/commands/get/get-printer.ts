import type { Clock } from "../../../clock/clock.ts"
import { jsonYamlPrinter, noPrinter, templatePrinter } from "../../printers/print-flags.ts"
import type { PrinterParts } from "../../printers/template-flags.ts"
import { namePrinter } from "../../printers/name.ts"
import type { ResourcePrinter } from "../../printers/printer.ts"
import { TablePrinter } from "../../printers/table.ts"
import type { RestMapping } from "../../rest/rest-mapper.ts"
import { GET_FORMATS, type GetValues } from "./get-flags.ts"

export interface GetPrinterOptions extends PrinterParts {
  readonly clock: Clock
  readonly mapping?: RestMapping
  readonly withNamespace: boolean
  readonly withKind: boolean
}

/** Whether the flags ask for a table. */
export const isHumanReadable = ({ output, template }: GetValues): boolean =>
  (output === "" && template === "") || output === "wide"

/** Returns the printer that the flags ask for. Source: kubectl pkg/cmd/get/get_flags.go (ToPrinter). */
export async function getPrinter(flags: GetValues, options: GetPrinterOptions): Promise<ResourcePrinter> {
  const format = flags.output === "" && flags.template !== "" ? "go-template" : flags.output
  const byTemplate = await templatePrinter(format, flags, options)
  if (byTemplate !== undefined) return byTemplate
  const byObject = jsonYamlPrinter(format, flags)
  if (byObject !== undefined) return byObject
  if (format === "" || format === "wide")
    return new TablePrinter(
      {
        noHeaders: flags["no-headers"],
        withNamespace: options.withNamespace,
        withKind: options.withKind || flags["show-kind"],
        wide: format === "wide",
        showLabels: flags["show-labels"],
        columnLabels: flags["label-columns"],
        kind: groupKindText(options.mapping),
      },
      options.clock,
    )
  if (/^custom-columns(?:-file)?(?:=|$)/.test(format)) {
    const { customColumnsPrinter } = await import("../../printers/custom-columns.ts")
    return customColumnsPrinter(format, { noHeaders: flags["no-headers"], template: flags.template, parts: options })
  }
  if (format.toLowerCase() === "name") return namePrinter({ short: true })
  throw noPrinter(format, GET_FORMATS)
}

/** `deployment.apps`, as it stands in front of names. */
function groupKindText(mapping: RestMapping | undefined): string {
  if (mapping === undefined) return ""
  const { group, kind } = mapping.kind
  return (group === "" ? kind : `${kind}.${group}`).toLowerCase()
}
