import { compareText, goTypeOf, numberOf } from "../../go-fmt/go-number.ts"
import { quoted } from "../../go-fmt/quote.ts"
import { goSort } from "../../go-sort/go-sort.ts"
import { JsonPath } from "../../jsonpath/jsonpath.ts"
import { relaxedJsonPath } from "../../jsonpath/relaxed.ts"
import { compareQuantities, parseQuantity } from "../../apimachinery/scalars/quantity.ts"
import type { Unstructured } from "../rest/json.ts"
import type { Table } from "./table.ts"

/** A field that objects cannot be sorted by: a wrong path, or one that no object has. */
export class SortError extends Error {
  override name = "SortError"
}

/** A value to sort by, and what it belongs to. */
interface Sortable<T> {
  readonly of: T
  /** Undefined for an object without the field. */
  readonly value: { readonly found: unknown } | undefined
}

/**
 * Sorts objects by a field; those without it come first. Source: kubectl pkg/cmd/get/sorter.go (SortObjects).
 * @throws SortError where no object has the field, Error where its values cannot be compared
 */
export function sortObjects<T>(objects: readonly T[], field: string, contentOf: (object: T) => Unstructured): T[] {
  const path = relaxedJsonPath(field)
  const parser = new JsonPath(path, { allowMissingKeys: true })
  const sortables = objects.map((object) => sortable(object, parser, contentOf(object)))
  if (!sortables.some(({ value }) => value !== undefined)) throw notFound(path)
  return sorted(sortables, path, "*unstructured.Unstructured")
}

/**
 * Returns a table with its rows sorted by a field of their objects. Source: kubectl pkg/cmd/get/sorter.go
 * (TableSorter).
 * @throws SortError where no object has the field, Error where its values cannot be compared
 */
export function sortedTable(table: Table, field: string): Table {
  const path = lenientPath(field)
  let parser: JsonPath
  try {
    parser = new JsonPath(path, { allowMissingKeys: true })
  } catch (err) {
    throw new SortError(`sorting error: ${(err as Error).message}`, { cause: err })
  }
  const rows = table.rows ?? []
  const sortables = rows.map((row) => {
    try {
      return sortable(row, parser, row.object)
    } catch (err) {
      const shown = `&errors.errorString{s:${quoted((err as Error).message)}}`
      throw new SortError(`Failed to get values for [][]reflect.Value(nil) using ${path} (${shown})`, { cause: err })
    }
  })
  if (rows.length > 0 && !sortables.some(({ value }) => value !== undefined)) throw notFound(path)
  return { ...table, rows: sorted(sortables, path, "[][][]reflect.Value") }
}

/** Returns the path in braces, or as it is. */
export function lenientPath(field: string): string {
  try {
    return relaxedJsonPath(field)
  } catch {
    return field
  }
}

function sortable<T>(of: T, parser: JsonPath, content: unknown): Sortable<T> {
  const [first = []] = parser.findResults(content)
  return { of, value: first.length === 0 ? undefined : { found: first[0] } }
}

const notFound = (path: string): SortError =>
  new SortError(`couldn't find any field with path ${quoted(path)} in the list of objects`)

function sorted<T>(sortables: Sortable<T>[], path: string, type: string): T[] {
  goSort(sortables, ({ value: a }, { value: b }) => {
    if (a === undefined || b === undefined) return a === undefined
    const less = isLess(a.found ?? null, b.found ?? null)
    if (typeof less === "boolean") return less
    throw new Error(`Field ${path} in ${type} is an unsortable type: interface, err: ${less.fault}`)
  })
  return sortables.map(({ of }) => of)
}

/** Compares two values of the same type; texts that are quantities by their amount. */
function isLess(a: unknown, b: unknown): boolean | { readonly fault: string } {
  if (a === null || b === null) return a === null && b !== null
  const number = numberOf(a)
  if (typeof a !== "string" && number === undefined) return { fault: `unsortable type: ${goTypeOf(a)}` }
  if (goTypeOf(a) !== goTypeOf(b)) return { fault: "unsortable interface: interface" }
  if (number !== undefined) return number.value < numberOf(b)!.value
  const [x, y] = [parseQuantity(a as string), parseQuantity(b as string)]
  return x === undefined || y === undefined ? compareText(a as string, b as string) < 0 : compareQuantities(x, y) < 0
}
