import { aggregate } from "../../errors/aggregate.ts"
import type { Output } from "../../printers/output.ts"
import type { ResourcePrinter } from "../../printers/printer.ts"
import { newTabWriter } from "../../printers/tab-writer.ts"
import type { Info } from "../../resource/info.ts"
import type { Result } from "../../resource/result.ts"
import type { RestMapping } from "../../rest/rest-mapper.ts"
import type { GetInvocation } from "./get-flags.ts"
import { getPrinter } from "./get-printer.ts"

/** Prints tables, one for each resource, with an empty line between them. */
export async function printTables(invocation: GetInvocation, result: Result, namespace: string): Promise<void> {
  const { flags, out, errOut, environment, factory, changed } = invocation
  const errors: unknown[] = []
  const { infos: found, error } = await result.infosAndError()
  if (error !== undefined) errors.push(error)
  const withKind = new Set(found.map(({ mapping }) => JSON.stringify(mapping.kind))).size > 1
  const field = flags["sort-by"]
  const infos = field === "" ? found : await sorted(found, field)
  const separated = new SeparatedOutput(out)
  const table = newTabWriter(separated)
  const allNamespaces = flags["all-namespaces"]
  let printer: ResourcePrinter | undefined
  let last: RestMapping | undefined
  for (const info of infos) {
    const { mapping } = info
    if (printer === undefined || JSON.stringify(mapping.resource) !== JSON.stringify(last?.resource)) {
      await table.flush()
      table.forgetWidths()
      if (last !== undefined && !flags["no-headers"] && separated.hasWritten) separated.isReady = true
      try {
        printer = await getPrinter(flags, {
          clock: environment.clock,
          mapping,
          withNamespace: allNamespaces && mapping.namespaced,
          withKind,
          readFile: (path) => factory.readFile(path),
          outputIsSet: changed("output"),
        })
        if (field !== "") printer = await sorting(printer, field)
      } catch (err) {
        if (!errors.some((each) => (each as Error).message === (err as Error).message)) errors.push(err)
        continue
      }
      last = mapping
    }
    await printer.print(info.loaded, table)
  }
  await table.flush()
  if (!separated.hasWritten && !flags["ignore-not-found"] && errors.length === 0) {
    const isInOne = !allNamespaces && infos.every(({ namespaced }) => namespaced)
    await errOut.write(isInOne ? `No resources found in ${namespace} namespace.\n` : "No resources found\n")
  }
  const failed = aggregate(errors)
  if (failed !== undefined) throw failed
}

async function sorted(infos: readonly Info[], field: string): Promise<readonly Info[]> {
  const { sortInfos } = await import("./sort.ts")
  return sortInfos(infos, field)
}

async function sorting(printer: ResourcePrinter, field: string): Promise<ResourcePrinter> {
  const { lenientSortingPrinter } = await import("./sorting-printer.ts")
  return lenientSortingPrinter(printer, field)
}

/** Writes an empty line before the next text when it is ready. */
class SeparatedOutput implements Output {
  readonly #out: Output
  isReady = false
  hasWritten = false

  constructor(out: Output) {
    this.#out = out
  }

  async write(text: string | Uint8Array): Promise<void> {
    if (text.length === 0) return
    if (this.isReady) await this.#out.write("\n")
    this.isReady = false
    this.hasWritten = true
    await this.#out.write(text)
  }
}
