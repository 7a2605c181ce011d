import type { ListMeta, ObjectMeta } from "../meta.ts"
import type { Column, KubeObject, Resource, RowCondition } from "../resource.ts"
import { ageOf } from "../scalars/time.ts"

/**
 * metav1.Table: the output of `kubectl get`. Source: apimachinery pkg/apis/meta/v1/types.go and registry/rest/table.go.
 */
export interface Table {
  readonly kind: "Table"
  readonly apiVersion: string
  readonly metadata: ListMeta
  readonly columnDefinitions: readonly TableColumn[]
  readonly rows: readonly TableRow[]
}
export interface TableColumn {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  /** 0 is always shown, 1 only with `-o wide`. */
  readonly priority: number
}
export interface TableRow {
  readonly cells: readonly (string | number | boolean | null)[]
  /** Only set when there is a condition: `Completed` for a pod that has ended. */
  readonly conditions?: readonly RowCondition[]
  readonly object:
    | KubeObject
    | { readonly kind: "PartialObjectMetadata"; readonly apiVersion: string; readonly metadata: ObjectMeta }
    | null
}

export interface TableOptions {
  /** The metadata of the list, or the resourceVersion of the one object. */
  readonly metadata: ListMeta
  /** The current time in milliseconds since the epoch, for ages. */
  readonly now: number
  readonly includeObject: "None" | "Metadata" | "Object"
  /** The version of meta.k8s.io; `v1` unless the client requested `v1beta1`. */
  readonly version?: string | undefined
}

/** Returns objects of a kind as table rows: Name, the kind's own columns, Age, and the columns of `-o wide`. */
export function tableOf<T extends KubeObject>(
  resource: Resource<T>,
  objects: readonly T[],
  options: TableOptions,
): Table {
  const { head, rowOf } = tableParts(resource, options)
  const ordered = resource.rowOrder === undefined ? objects : objects.toSorted((a, b) => resource.rowOrder!(a, b))
  return { ...head, rows: ordered.map(rowOf) }
}

/** Returns the table without its rows, and what makes the row of an object. */
export function tableParts<T extends KubeObject>(
  resource: Resource<T>,
  { metadata, now, includeObject, version = "v1" }: TableOptions,
): { readonly head: Omit<Table, "rows">; readonly rowOf: (object: T) => TableRow } {
  const apiVersion = `meta.k8s.io/${version}`
  const columns = columnsOf(resource)
  return {
    head: { kind: "Table", apiVersion, metadata, columnDefinitions: definitionsOf(resource) },
    rowOf(object) {
      const cells = columns.map((column) => cellOf(column, object, now))
      const conditions = resource.rowConditions?.(object) ?? []
      const row = conditions.length > 0 ? { cells, conditions } : { cells }
      switch (includeObject) {
        case "None":
          return { ...row, object: null }
        case "Metadata":
          return { ...row, object: { kind: "PartialObjectMetadata", apiVersion, metadata: object.metadata } }
        case "Object":
          return { ...row, object }
      }
    },
  }
}

function cellOf<T>(column: Column<T>, object: T, now: number): string | number | boolean | null {
  const value = column.value(object, now)
  return value === undefined ? (column.type === "string" || column.type === "date" ? "<none>" : null) : value
}

const NAME: Column<KubeObject> = {
  name: "Name",
  type: "string",
  format: "name",
  doc: "Name of the object, unique among those of its kind in the namespace.",
  value: ({ metadata }) => metadata.name ?? "",
}
const AGE: Column<KubeObject> = {
  name: "Age",
  type: "string",
  doc: "Time since the object was created.",
  value: ({ metadata }, now) => ageOf(metadata.creationTimestamp, now),
}

/** The only column beside the name for kinds that declare none. Source: apiserver pkg/registry/rest/table.go. */
const CREATED_AT: Column<KubeObject> = {
  name: "Created At",
  type: "date",
  doc: "Time at which the object was created.",
  value: ({ metadata }) => metadata.creationTimestamp,
}

/**
 * Returns all columns of a kind in order. Age comes before the trailing columns of `-o wide`, as in upstream's
 * printers.
 */
function columnsOf<T extends KubeObject>({ columns, nameColumn, ageColumn }: Resource<T>): readonly Column<T>[] {
  if (columns === undefined) return [NAME, CREATED_AT]
  const wide = columns.findLastIndex(({ priority = 0 }) => priority === 0) + 1
  return [
    ...(nameColumn === false ? [] : [NAME]),
    ...columns.slice(0, wide),
    ...(ageColumn === false ? [] : [AGE]),
    ...columns.slice(wide),
  ]
}

const definitions = new WeakMap<object, readonly TableColumn[]>()

/** Returns the definitions of a kind's columns, made once for each kind. */
function definitionsOf<T extends KubeObject>(resource: Resource<T>): readonly TableColumn[] {
  const known = definitions.get(resource)
  if (known !== undefined) return known
  const made = columnsOf(resource).map(({ name, type, format = "", doc = "", priority = 0 }): TableColumn => ({
    name,
    type,
    format,
    description: doc,
    priority,
  }))
  definitions.set(resource, made)
  return made
}
