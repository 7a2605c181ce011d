import { goText } from "../../apimachinery/go/go-text.ts"
import { ageOf } from "../../apimachinery/scalars/time.ts"
import type { Clock } from "../../clock/clock.ts"
import { isList, type Unstructured } from "../rest/json.ts"
import type { Output } from "./output.ts"
import { isWatchEvent, type ResourcePrinter } from "./printer.ts"
import { newTabWriter, TabWriter } from "./tab-writer.ts"

export interface TableOptions {
  readonly noHeaders: boolean
  readonly withNamespace: boolean
  readonly withKind: boolean
  readonly wide: boolean
  readonly showLabels: boolean
  /** The labels that have a column each. */
  readonly columnLabels: readonly string[]
  /** The kind in front of names: `deployment.apps`. */
  readonly kind: string
}

export interface Column {
  readonly name: string
  readonly type: string
  readonly format?: string
  /** A column whose priority is not 0 is shown only if wide. */
  readonly priority?: number
}

interface Row {
  cells: unknown[]
  readonly object?: Unstructured
}

/** meta.k8s.io Table, as the server sends it. */
export interface Table extends Unstructured {
  columnDefinitions: readonly Column[]
  rows: Row[] | null
}

const TABLE_VERSIONS = ["meta.k8s.io/v1", "meta.k8s.io/v1beta1"]

export const isTable = (object: Unstructured): object is Table =>
  object.kind === "Table" && TABLE_VERSIONS.includes(object.apiVersion ?? "")

const EVENT_TYPES: Readonly<Record<string, string>> = {
  ADDED: "ADDED   ",
  MODIFIED: "MODIFIED",
  DELETED: "DELETED ",
  ERROR: "ERROR   ",
}

/**
 * Prints Tables of the server, and name and age of other objects. Headers come once for tables with equal columns, so
 * one printer prints a whole watch. Source: cli-runtime pkg/printers/tableprinter.go.
 */
export class TablePrinter implements ResourcePrinter {
  readonly #options: TableOptions
  readonly #clock: Clock
  #lastColumns: readonly Column[] = []
  #lastColumnsText = ""
  #hasHeaders = false
  #lastHandler: string | undefined

  constructor(options: TableOptions, clock: Clock) {
    this.#options = options
    this.#clock = clock
  }

  async print(object: Unstructured, output: Output): Promise<void> {
    const out = output instanceof TabWriter ? output : newTabWriter(output)
    const event = isWatchEvent(object) ? object.type : ""
    const printed = isWatchEvent(object) ? object.object : object
    await out.write(isTable(printed) ? this.#table(printed, event) : this.#plain(printed, event))
    if (out !== output) await out.flush()
  }

  #table(table: Table, event: string): string {
    const columnsText = JSON.stringify(table.columnDefinitions ?? [])
    let columns = table.columnDefinitions ?? []
    const isSame = columns.length === 0 || columnsText === this.#lastColumnsText
    const noHeaders = this.#options.noHeaders || (this.#hasHeaders && isSame)
    if (columns.length === 0) columns = this.#lastColumns
    else if (!isSame) {
      this.#lastColumns = columns
      this.#lastColumnsText = columnsText
      this.#hasHeaders = false
    }
    const rows = table.rows ?? []
    if (rows.length > 0) this.#hasHeaders = true
    const { withNamespace, columnLabels, showLabels } = this.#options
    const all: readonly Column[] = [
      ...(event === "" ? [] : [{ name: "Event", type: "string" }]),
      ...(withNamespace ? [{ name: "Namespace", type: "string" }] : []),
      ...columns,
      ...labelHeaders(columnLabels).map((name) => ({ name, type: "string" })),
      ...(showLabels ? [{ name: "Labels", type: "string" }] : []),
    ]
    const named = this.#nameColumn(columns)
    const cellsOf = (row: Row): readonly unknown[] => {
      const cells =
        named === -1 ? row.cells : row.cells.with(named, `${this.#options.kind}/${String(row.cells[named])}`)
      const metadata = row.object?.metadata
      const padded = [...cells, ...Array.from({ length: Math.max(0, columns.length - cells.length) }, () => null)]
      return [
        ...(event === "" ? [] : [EVENT_TYPES[event] ?? event]),
        ...(withNamespace ? [metadata === undefined ? null : (metadata.namespace ?? "")] : []),
        ...padded.slice(0, columns.length),
        ...this.#labelCells(metadata?.labels, metadata === undefined),
      ]
    }
    return this.#text(all, rows.map(cellsOf), noHeaders)
  }

  #nameColumn(columns: readonly Column[]): number {
    const { withKind, kind } = this.#options
    return withKind && kind !== ""
      ? columns.findIndex(({ format, type }) => format === "name" && type === "string")
      : -1
  }

  #labelCells(labels: Readonly<Record<string, string>> = {}, isUnknown: boolean): readonly unknown[] {
    const { columnLabels, showLabels } = this.#options
    const values = columnLabels.map((label) => (Object.hasOwn(labels, label) ? labels[label] : ""))
    const all = showLabels ? [...values, labelsText(labels)] : values
    return isUnknown ? all.map(() => null) : all
  }

  #text(columns: readonly Column[], rows: readonly (readonly unknown[])[], noHeaders: boolean): string {
    const shown = columns.flatMap(({ priority = 0 }, i) => (priority === 0 || this.#options.wide ? [i] : []))
    const lines = rows.map((cells) => shown.map((i) => cellText(cells[i])).join("\t"))
    const head = noHeaders || rows.length === 0 ? [] : [shown.map((i) => columns[i]!.name.toUpperCase()).join("\t")]
    return [...head, ...lines].map((line) => `${line}\n`).join("")
  }

  /** Name and age of an object or of the items of a list; a Status has other columns. */
  #plain(object: Unstructured, event: string): string {
    const { withNamespace, withKind, kind, columnLabels, showLabels, noHeaders } = this.#options
    const isStatus = object.kind === "Status" && object.apiVersion === "v1"
    const handler = isStatus ? "status" : "default"
    const items = isList(object) ? object.items : [object]
    const rows = items.map((item) => {
      const { name = "", namespace = "", creationTimestamp, labels } = item.metadata ?? {}
      const cells = isStatus
        ? [item["status"], item["reason"], item["message"]].map((cell) => (cell === undefined ? "" : goText(cell)))
        : [withKind && kind !== "" ? `${kind}/${name}` : name, ageOf(creationTimestamp, this.#clock.now())]
      return [
        ...(event === "" ? [] : [EVENT_TYPES[event] ?? event]),
        ...(withNamespace ? [namespace] : []),
        ...cells,
        ...this.#labelCells(labels, false),
      ].join("\t")
    })
    const isNew = this.#lastHandler !== handler
    const separator = this.#lastHandler !== undefined && isNew && !noHeaders ? [""] : []
    const head = [
      ...(event === "" ? [] : ["EVENT"]),
      ...(withNamespace ? ["NAMESPACE"] : []),
      ...(isStatus ? ["STATUS", "REASON", "MESSAGE"] : ["NAME", "AGE"]),
      ...labelHeaders(columnLabels),
      ...(showLabels ? ["LABELS"] : []),
    ].join("\t")
    this.#lastHandler = handler
    return [...separator, ...(isNew && !noHeaders ? [head] : []), ...rows].map((line) => `${line}\n`).join("")
  }
}

/** The header of a label is its name without a prefix. */
const labelHeaders = (labels: readonly string[]): readonly string[] =>
  labels.map((label) => label.split("/").at(-1)!.toUpperCase())

/** Source: apimachinery pkg/labels (FormatLabels). */
export function labelsText(labels: Readonly<Record<string, string>>): string {
  const text = Object.keys(labels)
    .sort()
    .map((key) => `${key}=${labels[key]!}`)
    .join(",")
  return text === "" ? "<none>" : text
}

/** A cell has one line, and nothing that a terminal would obey. */
function cellText(cell: unknown): string {
  if (cell === null || cell === undefined) return ""
  if (typeof cell !== "string") return escaped(goText(cell))
  const end = cell.search(/[\f\n\r]/)
  return end === -1 ? escaped(cell) : `${escaped(cell.slice(0, end))}...`
}

export const escaped = (text: string): string => text.replaceAll("\u001b", "^[").replaceAll("\r", "\\r")
