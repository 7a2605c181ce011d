import type { FieldSpec, Type, Message } from "../../../pkg/apimachinery/field-spec.ts"

/**
 * One change of an object: `path` is a JSON pointer, and `change` is the new value. `-` removes the value, `+` appends
 * a copy of the first item to a list, `~64` is a text of 64 letters, and everything else is JSON.
 */
export interface Mutation {
  readonly path: string
  readonly change: string
  /** Whether it is also sent as an update of a stored object. */
  readonly onUpdate: boolean
}

/** The fields of a kind that earlier bases have changed already: pods and volumes share most of their fields. */
export type Seen = Set<string>

type Values = Readonly<Record<string, unknown>>
interface Place {
  readonly path: string
  /** The same without indexes. */
  readonly schema: string
  /** Whether absent fields are also set to values. */
  readonly adds: boolean
  /** The largest number of absent messages that are created around a field. */
  readonly depth: number
}

/** Returns every useful change of an object of this schema that is not in `seen`, and adds them to `seen`. */
export function mutationsOf(schema: Message, object: Values, seen: Seen): readonly Mutation[] {
  const found: Mutation[] = []
  walk(schema, object, { path: "", schema: "", adds: true, depth: 1 }, (path, schemaPath, change, onUpdate) => {
    const key = `${schemaPath} ${change}`
    if (seen.has(key)) return
    seen.add(key)
    found.push({ path, change, onUpdate })
  })
  return found
}

type Put = (path: string, schema: string, change: string, onUpdate: boolean) => void

/** Fields that only the server sets, or that name the kind. They are tested elsewhere. */
const LEFT_OUT: ReadonlySet<string> = new Set(["/apiVersion", "/kind", "/metadata/managedFields", "/metadata/selfLink"])

function walk(message: Message, value: Values | undefined, place: Place, put: Put): void {
  const adds = place.adds && !message.name.endsWith(".PodTemplateSpec")
  for (const [name, { spec }] of Object.entries(message.fields)) {
    const step = `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`
    const inner = { ...place, path: place.path + step, schema: place.schema + step, adds }
    if (LEFT_OUT.has(inner.schema)) continue
    const given = value?.[name]
    if (given === undefined ? !adds : false) continue
    const emit = (change: string, onUpdate = false) =>
      put(inner.path, `${inner.schema}${given === undefined ? "?" : ""}`, change, onUpdate)
    if (given !== undefined) {
      emit("-", true)
      emit("null", true)
    }
    for (const [change, onUpdate] of changesOf(spec, given)) emit(change, onUpdate)
    descend(spec.type, given, inner, put)
  }
}

function descend(type: Type, given: unknown, place: Place, put: Put): void {
  if (type.kind === "message") {
    if (given !== undefined) walk(type.message(), given as Values, place, put)
    else if (place.depth > 0) walk(type.message(), undefined, { ...place, depth: place.depth - 1 }, put)
  } else if (type.kind === "list" && type.of.kind === "message") {
    const items = (given ?? []) as readonly Values[]
    for (const [i, item] of items.entries())
      if (i < 2)
        walk(type.of.message(), item, { ...place, path: `${place.path}/${i}`, schema: `${place.schema}/*` }, put)
  }
}

type Change = readonly [change: string, onUpdate: boolean]
const WRONG_TYPE: Readonly<Record<string, string>> = {
  list: "{}",
  map: "[]",
  message: '"x"',
  bool: '"x"',
  int32: '"x"',
  int64: '"x"',
}

const json = (values: readonly unknown[], onUpdate = false): readonly Change[] =>
  values.map((value) => [JSON.stringify(value), onUpdate])

/** Returns the values that a field of this type is set to: more for a present field than for an absent one. */
function changesOf(spec: FieldSpec, given: unknown): readonly Change[] {
  const { type } = spec
  const isThere = given !== undefined
  const wrong: readonly Change[] = isThere ? [[WRONG_TYPE[type.kind] ?? "7", false]] : []
  switch (type.kind) {
    case "message":
      return [...wrong, ["{}", true]]
    case "list":
      return [...wrong, ...listChanges(type.of, isThere)]
    case "map":
      return [...wrong, ...mapChanges(type.of)]
    default:
      return [...wrong, ...scalarChanges(spec, type.kind, isThere)]
  }
}

function listChanges(of: Type, isThere: boolean): readonly Change[] {
  const items =
    of.kind === "message" ? [[{}]] : of.kind === "string" ? [["a"], ["", "a"], ["A_b"], ["a/b", "a b"]] : [[1], [-1, 1]]
  return [
    ["[]", true],
    ...json(items, true),
    ...(isThere
      ? ([
          ["+", true],
          ["[null]", false],
        ] as const)
      : []),
  ]
}

function mapChanges(of: Type): readonly Change[] {
  if (of.kind === "quantity")
    return [
      ...json([{}, { cpu: "1" }, { storage: "3Gi" }], true),
      ...json([
        { cpu: "-1", memory: "1.5" },
        { foo: "1" },
        { "example.com/foo": "1.5" },
        { "hugepages-2Mi": "1Mi" },
        { "requests.cpu": "1", pods: "1.5" },
        { "a b": "1" },
        { cpu: "x" },
      ]),
    ]
  if (of.kind !== "string" && of.kind !== "bytes") return json([{}], true)
  return [
    ...json([{}, { z: "YQ==" }, { "A b": "YQ==" }], true),
    ...json([{ "": "" }, { "a/b/c": "" }, { "a.b/c_D": "" }, { a: "a".repeat(64) }, { a: 7 }, { a: null }]),
  ]
}

const WORDS = ["a b", "-a", "a.b", "a/b", "../a", "/a", "10.0.0.1", "::1", "1"]
const NUMBERS = [2, 255, 65536, 2147483647]

function scalarChanges(spec: FieldSpec, kind: string, isThere: boolean): readonly Change[] {
  switch (kind) {
    case "string":
      if (spec.enum !== undefined) return [...json(spec.enum, true), ...json(["", "Unknown"], true)]
      return isThere
        ? [...json(["", "zz", "A_b"], true), ...json(WORDS), ["~64", false], ["~254", false]]
        : [...json(["a"], true), ...json(["", "A_b", "a/b"]), ["~254", false]]
    case "int32":
    case "int64": {
      const edges = [spec.min === undefined ? [] : spec.min - 1, spec.max === undefined ? [] : spec.max + 1].flat()
      return isThere
        ? [
            ...json([-1, 0, 1], true),
            ...json([...new Set([...NUMBERS, ...edges])].filter((edge) => edge < -1 || edge > 1)),
            ["2147483648", false],
            ["1.5", false],
          ]
        : [...json([1], true), ...json([...new Set([-1, 0, 65536, ...edges])])]
    }
    case "bool":
      return json([true, false], true)
    case "quantity":
      return [...json(["2", "0"], true), ...json(["-1", "1.5", "100m", "1Ki", "x", "", 5])]
    case "intOrString":
      return [...json([1, "20%"], true), ...json([-1, 0, 65536, "0%", "101%", "x", ""])]
    case "time":
    case "microTime":
      return [
        ...json([kind === "time" ? "2026-02-03T04:05:06Z" : "2026-02-03T04:05:06.000007Z"], true),
        ...json(["x", ""]),
      ]
    case "bytes":
      return [...json(["YQ=="], true), ...json(["", "%"])]
    case "double":
      return json([0, 1.5], true)
    default:
      return [...json([{ a: "b" }], true), ...json([{}, "a"])]
  }
}

/** Returns the changed object. Absent messages on the path are created. */
export function mutated(object: Values, { path, change }: Pick<Mutation, "path" | "change">): Values {
  const steps = path
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
  return set(object, steps, change) as Values
}

function set(value: unknown, [step, ...rest]: readonly string[], change: string): unknown {
  if (step === undefined) return changed(value, change)
  if (Array.isArray(value))
    return value.map((item: unknown, i) => (String(i) === step ? set(item, rest, change) : item))
  const { [step]: before, ...others } = (value ?? {}) as Record<string, unknown>
  const after = rest.length === 0 && change === "-" ? undefined : set(before, rest, change)
  return after === undefined ? others : { ...others, [step]: after }
}

function changed(value: unknown, change: string): unknown {
  if (change === "+") return [...(value as readonly unknown[]), (value as readonly unknown[])[0]]
  return change.startsWith("~") ? "a".repeat(Number(change.slice(1))) : JSON.parse(change)
}
