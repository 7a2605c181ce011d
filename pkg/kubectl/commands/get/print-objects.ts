import { aggregate, flatten, reduce } from "../../errors/aggregate.ts"
import { listItems } from "../../resource/list-items.ts"
import type { Result } from "../../resource/result.ts"
import { isList, type Unstructured } from "../../rest/json.ts"
import type { GetInvocation } from "./get-flags.ts"
import { getPrinter } from "./get-printer.ts"

/** Prints one object, or a List of all objects. */
export async function printObjects(invocation: GetInvocation, result: Result): Promise<void> {
  const { flags, out, environment, factory, changed } = invocation
  const errors: unknown[] = []
  const { infos, error } = await result.infosAndError()
  if (error !== undefined) {
    if (result.singleItemImplied) throw error
    errors.push(error)
  }
  const finish = () => {
    const failed = aggregate(errors.flatMap(flatten))
    if (failed !== undefined) throw reduce(failed)
  }
  if (infos.length === 0 && flags["ignore-not-found"]) return finish()
  let printer = await getPrinter(flags, {
    clock: environment.clock,
    withNamespace: false,
    withKind: false,
    readFile: (path) => factory.readFile(path),
    outputIsSet: changed("output"),
  })
  if (flags["sort-by"] !== "") {
    const { sortingPrinter } = await import("./sorting-printer.ts")
    printer = sortingPrinter(printer, flags["sort-by"])
  }
  const objects = infos.map(({ loaded }) => loaded)
  try {
    await printer.print(
      result.singleItemImplied && objects.length === 1 ? asItIs(objects[0]!) : listOf(objects, ""),
      out,
    )
  } catch (err) {
    errors.push(err)
  }
  finish()
}

const asItIs = (object: Unstructured): Unstructured =>
  isList(object) ? listOf([...listItems(object)], object.metadata?.resourceVersion ?? "") : object

const listOf = (items: Unstructured[], resourceVersion: string): Unstructured => ({
  kind: "List",
  apiVersion: "v1",
  metadata: { resourceVersion },
  items,
})
