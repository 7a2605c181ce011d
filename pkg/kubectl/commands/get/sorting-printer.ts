import type { Output } from "../../printers/output.ts"
import type { ResourcePrinter } from "../../printers/printer.ts"
import { sortedTable, SortError, sortObjects } from "../../printers/sort-by.ts"
import { isTable } from "../../printers/table.ts"
import { isList, type Unstructured } from "../../rest/json.ts"

/** Sorts the rows of a table, or the items of a list, before it is printed. Source: kubectl pkg/cmd/get/sorter.go. */
export const sortingPrinter = (printer: ResourcePrinter, field: string): ResourcePrinter => ({
  print: (object, out) => printer.print(sorted(object, field), out),
})

/** The same for `get` without a watch, which prints nothing of a table that it cannot sort, and says nothing. */
export const lenientSortingPrinter = (printer: ResourcePrinter, field: string): ResourcePrinter => ({
  async print(object: Unstructured, out: Output): Promise<void> {
    let shown: Unstructured
    try {
      shown = sorted(object, field)
    } catch (err) {
      if (err instanceof SortError) return
      throw err
    }
    await printer.print(shown, out)
  },
})

function sorted(object: Unstructured, field: string): Unstructured {
  if (isTable(object)) return (object.rows?.length ?? 0) > 1 ? sortedTable(object, field) : object
  if (!isList(object) || object.items.length === 0) return object
  return { ...object, items: sortObjects(object.items, field, (item) => item) }
}
