import { isDeepStrictEqual } from "node:util"
import { nameOf } from "../world.ts"
import type { WriteInvariant } from "./write.ts"

type FieldTree = { readonly [element: string]: FieldTree }

interface Manager {
  readonly manager?: string
  readonly operation?: string
  readonly apiVersion?: string
  readonly subresource?: string
  readonly fieldsV1?: unknown
}

/**
 * Paths that the API server leaves behind, as upstream's does: bindings and evictions replace a condition,
 * and clear the nominated node, without tracking it, and what was applied as an empty text or an empty map is not
 * stored.
 */
const UNTRACKED = [
  /\/f:conditions\/k:\{"type":"(PodScheduled|DisruptionTarget)"\}\//,
  /\/f:nominatedNodeName$/,
  /\/f:storageClassName$/,
  /^\/f:spec\/f:selector$/,
]

/**
 * Every path of managedFields leads to something in the object, and no manager is there twice. Source:
 * structured-merge-diff fieldpath/serialize-pe.go.
 */
export const managesWhatIsThere: WriteInvariant = ({ type, object, previous }) => {
  const managers = (object.metadata.managedFields ?? []) as readonly Manager[]
  if (type === "delete" || managers.length === 0) return []
  if (previous !== undefined && FREQUENT.has(object.kind ?? "")) return []
  const keys = managers.map(({ manager, operation, apiVersion, subresource }) =>
    [manager, operation, apiVersion, subresource].join(),
  )
  return [
    ...keys
      .filter((key, at) => keys.indexOf(key) !== at)
      .map((key) => `${nameOf(object)} has the manager ${key} twice`),
    ...managers.flatMap(({ manager, apiVersion, fieldsV1 }) =>
      missing(apiVersion === EVENTS ? asNewEvent(object) : object, (fieldsV1 ?? {}) as FieldTree, "")
        .filter((path) => !UNTRACKED.some((pattern) => pattern.test(path)))
        .map((path) => `${nameOf(object)} has no ${path}, which ${manager} manages`),
    ),
  ]
}

/**
 * Returns the paths of a set below a value that lead to nothing. A path with others below it is in the set itself only
 * where it has the element `.`.
 */
export function missing(value: unknown, tree: FieldTree, path: string): readonly string[] {
  return Object.entries(tree).flatMap(([element, below]) => {
    if (element === ".") return []
    const here = `${path}/${element}`
    const next = at(value, element)
    const isMember = Object.hasOwn(below, ".") || Object.keys(below).length === 0
    return [...(next === undefined && isMember ? [here] : []), ...missing(next, below, here)]
  })
}

/** Returns what a path element selects in a value; undefined when it is not there. */
function at(value: unknown, element: string): unknown {
  const [kind, rest] = [element.slice(0, 2), element.slice(2)]
  if (kind === "f:") {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, rest)) return undefined
    // What is null is there, and nothing is below it.
    return (value as Record<string, unknown>)[rest] ?? null
  }
  if (!Array.isArray(value)) return undefined
  const items = value as readonly unknown[]
  if (kind === "i:") return items[Number(rest)]
  const wanted = JSON.parse(rest) as unknown
  if (kind === "v:") return items.find((item) => isDeepStrictEqual(item, wanted))
  return items.find(
    (item) =>
      typeof item === "object" &&
      item !== null &&
      Object.entries(wanted as object).every(([key, one]) =>
        isDeepStrictEqual((item as Record<string, unknown>)[key], one),
      ),
  )
}

/** The version in which fields of Events have other names. */
const EVENTS = "events.k8s.io/v1"

/** The names there of fields. Source: the conversion of Event in pkg/apis/core/v1 and pkg/apis/events/v1. */
const NEW_NAMES: Readonly<Record<string, string>> = {
  message: "note",
  involvedObject: "regarding",
  reportingComponent: "reportingController",
  source: "deprecatedSource",
  firstTimestamp: "deprecatedFirstTimestamp",
  lastTimestamp: "deprecatedLastTimestamp",
  count: "deprecatedCount",
}
const asNewEvent = (object: object): object =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [NEW_NAMES[name] ?? name, value]))

/** Kinds of which there are most writes, and whose fields are always the same. */
const FREQUENT: ReadonlySet<string> = new Set(["Event", "Lease"])
