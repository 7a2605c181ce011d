/**
 * Fills every list and map of every kind with many items and does everything that a write does: the time may not grow
 * faster than the length.
 */
import { expect, test } from "bun:test"
import { RESOURCES, SUBRESOURCE_KINDS } from "../../pkg/api/resources.ts"
import { decodeObject } from "../../pkg/apimachinery/decoding/decode.ts"
import type { FieldSpec, Type, Message } from "../../pkg/apimachinery/field-spec.ts"
import { applyConfiguration } from "../../pkg/apimachinery/patch/apply/apply.ts"
import { trackUpdate } from "../../pkg/apimachinery/patch/apply/track.ts"
import { applyMergePatch } from "../../pkg/apimachinery/patch/merge.ts"
import { applyStrategicMergePatch } from "../../pkg/apimachinery/patch/strategic.ts"
import type { KubeObject, Resource } from "../../pkg/apimachinery/resource.ts"
import { validateObject, validateObjectUpdate } from "../../pkg/apimachinery/validation/validate.ts"
import { growth } from "./growth.ts"

const ITEMS = 150
const NOW = "2026-01-01T00:00:00Z"
/** The fields that identify the items of a list. */
const KEYS: ReadonlySet<string> = new Set("name key type ip port containerPort mountPath host uid".split(" "))

type Values = Record<string, unknown>
type Container = Type & { readonly kind: "list" | "map" }

interface Place {
  readonly resource: Resource
  /** The names of the fields that lead to it, through the first item of a list and the only entry of a map. */
  readonly path: readonly string[]
  readonly type: Container
  readonly spec: FieldSpec
}

/** Every list and map, each declared one once, however many kinds have it. */
function everyPlace(): readonly Place[] {
  const found = new Map<FieldSpec, Place>()
  const walk = (resource: Resource, message: Message, path: readonly string[], around: readonly Message[]): void => {
    if (around.includes(message)) return
    for (const [name, { spec }] of Object.entries(message.fields)) {
      if (name === "managedFields") continue
      const here = [...path, name]
      const { type } = spec
      if (type.kind === "list" || type.kind === "map")
        if (!found.has(spec)) found.set(spec, { resource, path: here, type, spec })
      const inner = type.kind === "list" || type.kind === "map" ? type.of : type
      if (inner.kind === "message") walk(resource, inner.message(), here, [...around, message])
    }
  }
  for (const resource of [...RESOURCES, ...SUBRESOURCE_KINDS]) walk(resource, resource.schema, [], [])
  return [...found.values()]
}

/** Returns a value of the type that differs for each number; of a struct the required fields and the keys. */
function valueOf(type: Type, number: number, spec?: FieldSpec, depth = 0): unknown {
  switch (type.kind) {
    case "message":
      return Object.fromEntries(
        Object.entries(type.message().fields).flatMap(([name, { spec: inner }]) =>
          depth < 3 && (inner.presence === "required" || KEYS.has(name))
            ? [[name, valueOf(inner.type, number, inner, depth + 1)]]
            : [],
        ),
      )
    case "list":
      return depth < 3 ? [valueOf(type.of, number, spec, depth + 1)] : []
    case "map":
    case "json":
    case "rawExtension":
    case "fieldsV1":
      return {}
    case "string":
      return spec?.enum?.[0] ?? `a${number}`
    case "bool":
      return true
    case "int32":
    case "int64":
    case "double":
      return 1 + (number % 60_000)
    case "bytes":
      return "AAEC"
    case "quantity":
      return "1"
    case "intOrString":
      return 80
    case "time":
      return NOW
    case "microTime":
      return "2026-01-01T00:00:00.000001Z"
    case "duration":
      return "1s"
  }
}

/** An object of the kind with `items` items at the place. */
function filled({ resource, path, type, spec }: Place, items: number): KubeObject {
  const values = Array.from({ length: items }, (_, i) => valueOf(type.of, i, spec))
  const leaf = type.kind === "list" ? values : Object.fromEntries(values.map((value, i) => [`k${i}`, value]))
  const within = (message: Message, [name, ...rest]: readonly string[]): Values => {
    const { spec: field } = message.fields[name!]!
    const inner = field.type.kind === "list" || field.type.kind === "map" ? field.type.of : field.type
    const value = rest.length === 0 || inner.kind !== "message" ? leaf : within(inner.message(), rest)
    const isLeaf = rest.length === 0
    const around = isLeaf
      ? value
      : field.type.kind === "list"
        ? [value]
        : field.type.kind === "map"
          ? { k: value }
          : value
    return { ...(valueOf({ kind: "message", message: () => message }, 0) as Values), [name!]: around }
  }
  const object = within(resource.schema, path)
  const { apiVersion, kind } = resource
  return { ...object, apiVersion, kind, metadata: { ...(object["metadata"] as Values), name: "x" } }
}

/** The same object with its long lists in another order. */
const reordered = (object: object): object =>
  JSON.parse(
    JSON.stringify(object, (_, value: unknown) =>
      Array.isArray(value) && value.length >= ITEMS ? value.toReversed() : value,
    ),
  ) as object

/** Does everything that any write verb does with its objects. */
function write(resource: Resource, sent: KubeObject): void {
  const by = { manager: "m", now: NOW }
  const stored = trackUpdate(resource, undefined, decodeObject(resource, sent).object, by)
  validateObject(resource, stored)
  const other = reordered(sent)
  const changed = decodeObject(resource, other).object
  validateObjectUpdate(resource, changed, stored)
  trackUpdate(resource, stored, changed, { ...by, manager: "n" })
  applyMergePatch(stored, other)
  applyStrategicMergePatch(resource.schema, stored, other)
  applyConfiguration(resource, stored, other, { ...by, manager: "o", force: true })
}

test("no list and no map makes a write take time that grows faster than its length", () => {
  const places = everyPlace()
  expect(places.length).toBeGreaterThan(200)
  const slow = places.flatMap((place) => {
    const { resource, path } = place
    const { large, factor } = growth(
      (items) => filled(place, items),
      (object) => write(resource, object),
      ITEMS,
    )
    return factor > 3 ? [`${resource.kind} ${path.join(".")}: ${large} ms for ${8 * ITEMS} items`] : []
  })
  expect(slow).toEqual([])
}, 120_000)
