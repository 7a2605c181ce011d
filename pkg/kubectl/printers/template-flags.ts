import { boolFlag, stringFlag, type FlagValues } from "../command/flag.ts"

/** Formats by a template, most of which the flag may hold too: `-o jsonpath={.metadata.name}`. */
export const TEMPLATE_FORMATS = [
  "go-template",
  "go-template-file",
  "template",
  "templatefile",
  "jsonpath",
  "jsonpath-as-json",
  "jsonpath-file",
]

/** The flags of templates, and of JSON and YAML. */
export const templateFlags = {
  "allow-missing-template-keys": boolFlag(
    true,
    "If true, a field or map key that a template asks for may be missing. For the formats golang and jsonpath.",
  ),
  "show-managed-fields": boolFlag(false, "If true, print managedFields too in JSON and YAML."),
  template: stringFlag(
    "",
    "The template, or the path of its file, for -o=go-template and -o=go-template-file. Its format is that of Go [http://golang.org/pkg/text/template/#pkg-overview].",
  ),
}

export type TemplateValues = FlagValues<typeof templateFlags>

/** What makes printers: files of templates are read from it. */
export interface PrinterParts {
  readFile(path: string): Promise<Uint8Array>
  /** Whether the command line has `--output`; it has where the format is not empty, for commands whose default is. */
  readonly outputIsSet?: boolean
}
