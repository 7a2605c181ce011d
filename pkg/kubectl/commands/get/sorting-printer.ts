import type { ResourcePrinter } from "../../printers/printer.ts"

/** Sorts the items of a list by a field before it is printed. Source: kubectl pkg/cmd/get/sorter.go. */
export const sortingPrinter = (_printer: ResourcePrinter, field: string): ResourcePrinter => ({
  print: () => Promise.reject(new Error(`sorting by ${field} is not there yet`)),
})
