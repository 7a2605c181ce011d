import { isNotFound } from "../../errors/status-error.ts"
import { watchEventObject } from "../../printers/printer.ts"
import { isTable } from "../../printers/table.ts"
import { newTabWriter } from "../../printers/tab-writer.ts"
import type { BuilderOptions } from "../../resource/builder-options.ts"
import { listItems } from "../../resource/list-items.ts"
import { isList, type Unstructured } from "../../rest/json.ts"
import type { GetInvocation } from "./get-flags.ts"
import { getPrinter } from "./get-printer.ts"

/** Prints objects, then their changes until the server ends the watch. */
export async function watchObjects(invocation: GetInvocation, options: BuilderOptions): Promise<void> {
  const { flags, factory, environment, out, changed } = invocation
  const result = await factory.build(options)
  let infos
  try {
    infos = await result.infos()
  } catch (err) {
    if (flags["ignore-not-found"] && isNotFound(err)) return
    throw err
  }
  const { mapping } = infos[0]!
  let printer = await getPrinter(flags, {
    clock: environment.clock,
    mapping,
    withNamespace: flags["all-namespaces"],
    withKind: false,
    readFile: (path) => factory.readFile(path),
    outputIsSet: changed("output"),
  })
  if (flags["sort-by"] !== "") {
    const { sortingPrinter } = await import("./sorting-printer.ts")
    printer = sortingPrinter(printer, flags["sort-by"])
  }
  const object = await result.object()
  const isItems = isList(object)
  const table = newTabWriter(out)
  const print = async (type: string, printed: Unstructured, isShown: boolean): Promise<void> => {
    const shown = isShown ? printed : withoutRows(printed)
    if (shown === undefined) return
    await printer.print(flags["output-watch-events"] ? watchEventObject(type, shown) : shown, table)
  }
  let isShown = !flags["watch-only"]
  for (const each of isItems ? listItems(object) : [object])
    try {
      await print("ADDED", each, isShown)
    } catch (err) {
      throw new Error(`unable to output the provided object: ${(err as Error).message}`, { cause: err })
    }
  await table.flush()
  // The watch of one object begins with the object itself, which has been printed.
  isShown = isItems
  const events = await result.watch(isItems ? (object.metadata?.resourceVersion ?? "") : "0", environment.interrupt)
  for await (const { type, object: changedObject } of events) {
    if (type === "BOOKMARK") continue
    await print(type, changedObject, isShown)
    await table.flush()
    isShown = true
  }
}

/** A table that is not printed still tells its columns. */
const withoutRows = (object: Unstructured): Unstructured | undefined =>
  isTable(object) ? { ...object, rows: [] } : undefined
