/** Makes the largest objects that the server takes, from the declarations of the kinds. */
import type { FieldSpec, Message, Type } from "../../../pkg/apimachinery/field-spec.ts"
import type { Cause } from "../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { Filler, type Values } from "./filler.ts"
import { faultsOf, isSmallEnough, largest, statusFaultsOf } from "./fit.ts"
import { elementOf, type Place } from "./places.ts"
import { sampleOf } from "./samples.ts"

export interface Bomb {
  readonly resource: Resource
  /** The kind, the field, what is large there and how large. */
  readonly title: string
  readonly object: object
  /** Whether the object is created without its status, which is written afterwards by the subresource. */
  readonly isStatus?: boolean
}

/** A bomb that is not made yet, since finding the largest size takes seconds. */
export interface Draft {
  readonly resource: Resource
  /** The kind, the field and what is large there. */
  readonly title: string
  /** Returns the bomb; undefined if the server takes no object with such a value. */
  make(): Bomb | undefined
}

/** Guesses until an object is valid. */
const MOST_GUESSES = 60

/** Yields the bombs of one field. */
export function* bombsOf(place: Place): Generator<Draft> {
  const isStatus = place.path[0] === "status"
  for (const draft of draftsOf(place))
    yield {
      ...draft,
      make() {
        const bomb = draft.make()
        return bomb && { ...bomb, isStatus }
      },
    }
}

/**
 * Returns the bomb of a kind in which every list and map is long that its sample can have outside of other lists: what
 * multiplies two of them, however far apart they are, shows.
 */
export function pairsOf(resource: Resource): Draft {
  const title = `${resource.kind} every list`
  const place: Place = { resource, path: [], spec: NO_SPEC, message: resource.schema }
  return {
    resource,
    title,
    make: () =>
      largestBy(
        place,
        title,
        (n, filler) => longEverywhere(filler, resource.schema, sampleOf(resource) as Values, n),
        2,
      ),
  }
}

/** A place that is the whole object has none. */
const NO_SPEC = {} as FieldSpec
/** The server's own, and status, which is written otherwise. */
const NOT_OF_CREATION: ReadonlySet<string> = new Set(["managedFields", "status", "apiVersion", "kind"])

function longEverywhere(filler: Filler, message: Message, given: Values, n: number): Values {
  const made = Object.entries(message.fields).flatMap(([name, { spec }]): [string, unknown][] => {
    if (NOT_OF_CREATION.has(name) || spec.disabled === true || filler.leavesOut(spec)) return []
    const base = given[name]
    if (spec.type.kind === "message")
      return base === undefined ? [] : [[name, longEverywhere(filler, spec.type.message(), base as Values, n)]]
    if (spec.type.kind !== "list" && spec.type.kind !== "map") return []
    const more = many(filler, { spec, path: [name] }, n)
    if (Array.isArray(more)) return [[name, [...((base as unknown[] | undefined) ?? []), ...more]]]
    return [[name, { ...(base as Values | undefined), ...(more as Values) }]]
  })
  return { ...given, ...Object.fromEntries(made) }
}

function* draftsOf(place: Place): Generator<Draft> {
  const { resource, path, spec } = place
  const title = `${resource.kind} ${path.join(".")}`
  const { type } = spec
  switch (type.kind) {
    case "list":
    case "map":
      yield* lists(place, title)
      return
    case "string":
      if (spec.enum === undefined) yield* texts(place, title)
      return
    case "bytes":
      yield* one(place, `${title} bytes`, (n) => "AAEC".repeat(n))
      return
    case "json":
    case "rawExtension":
    case "fieldsV1":
      yield* one(place, `${title} members`, (n) => Object.fromEntries(numbers(n).map((i) => [`k${i}`, 1])))
      yield* one(place, `${title} items`, (n) => ({ a: numbers(n).map(() => ({})) }))
      yield* one(place, `${title} depth`, (n) => JSON.parse(`${'{"a":'.repeat(n)}{}${"}".repeat(n)}`) as object)
      return
    case "message": {
      const fields = Object.entries(type.message().fields).filter(([, inner]) => inner.spec.type.kind === "list")
      if (fields.length > 1) yield* together(place, `${title} all lists`, type.message())
      return
    }
    case "bool":
      return
    default:
      yield* values(place, title, EXTREMES[type.kind])
  }
}

const numbers = (n: number): readonly number[] => Array.from({ length: n }, (_, i) => i)

/** From the largest to smaller ones: the first that the server takes is the bomb. */
const EXTREMES: Readonly<
  Record<
    Exclude<
      Type["kind"],
      "message" | "list" | "map" | "string" | "bool" | "bytes" | "json" | "rawExtension" | "fieldsV1"
    >,
    readonly (readonly unknown[])[]
  >
> = {
  int32: [
    [2_147_483_647, 1_000_000_000, 10_000_000, 1_000_000, 100_000, 65_535, 10_000, 1000, 100, 10, 1],
    [-2_147_483_648, -1],
  ],
  int64: [
    [9_007_199_254_740_991, 2 ** 40, 2_147_483_647, 1_000_000, 65_535, 3600, 600, 100, 10, 1],
    [-9_007_199_254_740_991, -1],
  ],
  double: [[1.7976931348623157e308, 1e9, 1], [5e-324]],
  quantity: [
    ["1e3000000", "1e1000", "9223372036854775807", "1"],
    ["1n"],
    [`${"9".repeat(1_000_000)}`],
    [`0.${"0".repeat(1_000_000)}1`],
  ],
  intOrString: [
    [2_147_483_647, 65_535, 100, 1],
    ["2147483647%", "100%"],
    [`${"9".repeat(1_000_000)}%`],
    [`1${"0".repeat(300)}%`],
  ],
  time: [["9999-12-31T23:59:59Z"], ["0001-01-02T00:00:00Z"]],
  microTime: [["9999-12-31T23:59:59.999999Z"], ["0001-01-02T00:00:00.000000Z"]],
  duration: [["2562047h47m16.854775807s", "10000h", "1h", "1s"], ["1ns"]],
}

function* values(place: Place, title: string, rows: readonly (readonly unknown[])[]): Generator<Draft> {
  const { resource } = place
  for (const row of rows)
    yield {
      resource,
      title: `${title} ${shown(row[0])}`,
      make() {
        for (const value of row) {
          const object = admitted(place, () => value)
          if (object !== undefined) return { resource, title: `${title} ${shown(value)}`, object }
        }
        return undefined
      },
    }
}

const shown = (value: unknown): string => String(value).slice(0, 24)

/** What texts are made of: what some code may split, expand, compile, count or compare. */
const PATTERNS: readonly string[] = ["a", "0,", "$(A)", "(a", "a.", "a-", "a/", "[", "1+", "ä", "*", "\n", "a=b,"]
/** The length of a text with which a pattern is tried. Shorter texts are no bombs. */
const LONG = 5000
/** The patterns tried in one field, of those that the server takes there. */
const MOST_PATTERNS = 2

function* texts(place: Place, title: string): Generator<Draft> {
  const { resource } = place
  let left = MOST_PATTERNS
  for (const pattern of PATTERNS) {
    const least = Math.ceil(LONG / pattern.length)
    const here = `${title} ${JSON.stringify(pattern)}`
    yield {
      resource,
      title: here,
      make() {
        if (left === 0) return undefined
        const made =
          largestOf(place, here, (n, base) => pattern.repeat(n) + textOf(base), least) ??
          largestOf(place, here, (n, base) => textOf(base) + pattern.repeat(n), least)
        if (made !== undefined) left--
        return made
      },
    }
  }
}

const textOf = (base: unknown): string => (typeof base === "string" ? base : "")

function* lists(place: Place, title: string): Generator<Draft> {
  const { resource, spec } = place
  const { type } = spec
  if (type.kind !== "list" && type.kind !== "map") return
  yield* one(place, `${title} items`, (n, _base, filler) => many(filler, place, n))
  if (type.of.kind !== "message") {
    if (type.of.kind === "string")
      yield* one(place, `${title} long items`, (n, _base, filler) =>
        type.kind === "list"
          ? numbers(2).map((i) => filler.value(type.of, i, spec) + "a".repeat(n))
          : { [filler.key(0, spec)]: "a".repeat(n) },
      )
    return
  }
  const message = type.of.message()
  for (const [name, inner] of Object.entries(message.fields)) {
    const { type: of } = inner.spec
    if (of.kind !== "list" && of.kind !== "map") continue
    // As many items as each has inner ones.
    yield* one(
      place,
      `${title} × ${name}`,
      (n, _base, filler) => {
        const within = many(filler, { spec: inner.spec, path: [name] }, n)
        return place.spec.type.kind === "list"
          ? numbers(n).map((i) => ({ ...filler.struct(message, i), [name]: within }))
          : Object.fromEntries(
              numbers(n).map((i) => [filler.key(i, spec), { ...filler.struct(message, i), [name]: within }]),
            )
      },
      1,
    )
  }
  const own = Object.entries(message.fields).filter(([, { spec: s }]) => s.type.kind === "list")
  if (own.length > 1)
    yield* one(place, `${title} all lists of one item`, (n, _base, filler) => [
      { ...filler.struct(message, 0), ...filled(filler, own, n) },
    ])
  // Each item names the one before, twice.
  if (type.kind === "list" && message.fields["name"] !== undefined)
    for (const [name, { spec: s }] of Object.entries(message.fields))
      if (s.type.kind === "string" && s.enum === undefined && name !== "name") {
        const here = `${title} ${name} doubled`
        yield {
          resource,
          title: here,
          make() {
            const object = admitted(place, (_base, filler) => doubled(filler, message, name))
            return object && { resource, title: here, object }
          },
        }
      }
}

/** Returns lists of n items each, but for those that validation refuses. */
const filled = (
  filler: Filler,
  lists: readonly (readonly [string, { readonly spec: FieldSpec }])[],
  n: number,
): Values =>
  Object.fromEntries(
    lists.flatMap(([name, { spec }]) =>
      filler.leavesOut(spec) ? [] : [[name, many(filler, { spec, path: [name] }, n)]],
    ),
  )

/** Enough to be 64 MB if some code expands the references. */
const DOUBLINGS = 25

const doubled = (filler: Filler, message: Message, name: string): unknown =>
  numbers(DOUBLINGS).map((i) => {
    const before = i === 0 ? "" : String(filler.struct(message, i - 1)["name"])
    return { ...filler.struct(message, i), [name]: i === 0 ? "aa" : `$(${before})$(${before})` }
  })

function many(filler: Filler, { spec, path }: Pick<Place, "spec" | "path">, n: number): unknown {
  const { type } = spec
  const name = path.at(-1)!
  if (type.kind === "list") return numbers(n).map((i) => filler.value(type.of, i, spec, name))
  if (type.kind === "map")
    return Object.fromEntries(numbers(n).map((i) => [filler.key(i, spec), filler.value(type.of, i, undefined, name)]))
  return filler.value(type, n, spec, name)
}

function* together(place: Place, title: string, message: Message): Generator<Draft> {
  const own = Object.entries(message.fields).filter(([, { spec }]) => spec.type.kind === "list")
  yield* one(place, title, (n, base, filler) => ({
    ...(base as Values),
    ...filled(filler, own, n),
  }))
}

type Leaf = (n: number, base: unknown, filler: Filler) => unknown

function* one(place: Place, title: string, leaf: Leaf, least = 2): Generator<Draft> {
  yield { resource: place.resource, title, make: () => largestOf(place, title, leaf, least) }
}

/** Returns the object with the largest leaf; undefined if the server takes none. */
const largestOf = (place: Place, title: string, leaf: Leaf, least: number): Bomb | undefined =>
  largestBy(place, title, (n, filler) => whole(place, filler, (base) => leaf(n, base, filler)), least)

function largestBy(
  place: Place,
  title: string,
  make: (n: number, filler: Filler) => object,
  least: number,
): Bomb | undefined {
  const { resource } = place
  const filler = new Filler()
  for (let guess = 0; guess < MOST_GUESSES; guess++) {
    const sized = (n: number) => make(n, filler)
    const faults = faultsAt(place, sized(least))
    if (faults.length === 0) {
      const size = largest(resource, sized, least, (object) => faultsAt(place, object))
      return size === undefined || size === least
        ? undefined
        : { resource, title: `${title}: ${size}`, object: sized(size) }
    }
    if (!filler.learn(resource.schema, faults)) return undefined
  }
  return undefined
}

/** Returns what the server refuses of an object that has a value at the place. */
const faultsAt = ({ resource, path }: Place, object: object): readonly Cause[] =>
  path[0] === "status" ? statusFaultsOf(resource, sampleOf(resource), object) : faultsOf(resource, object)

function admitted(place: Place, leaf: (base: unknown, filler: Filler) => unknown): object | undefined {
  const { resource } = place
  const filler = new Filler()
  for (let guess = 0; guess < MOST_GUESSES / 2; guess++) {
    const object = whole(place, filler, (base) => leaf(base, filler))
    const faults = faultsAt(place, object)
    if (faults.length === 0) return isSmallEnough(resource, object) ? object : undefined
    if (!filler.learn(resource.schema, faults)) return undefined
  }
  return undefined
}

/** Returns the sample of the kind with a value at the place. */
export const objectAt = (place: Place, filler: Filler, value: unknown): object => whole(place, filler, () => value)

/** Returns the sample of the kind with another value at the place, made of the sample's own or a filled one. */
function whole({ resource, path }: Place, filler: Filler, leaf: (base: unknown) => unknown): object {
  const within = (message: Message, given: Values, [name, ...rest]: readonly string[]): Values => {
    const { spec } = message.fields[name!]!
    const { type } = spec
    const base = given[name!]
    if (rest.length === 0) return { ...given, [name!]: leaf(base ?? filler.value(type, 0, spec, name)) }
    const inner = elementOf(type)
    if (inner.kind !== "message") return given
    const into = (one: unknown) =>
      within(inner.message(), (one as Values | undefined) ?? filler.struct(inner.message(), 0), rest)
    if (type.kind === "list")
      return {
        ...given,
        [name!]: [into((base as unknown[] | undefined)?.[0]), ...((base as unknown[] | undefined) ?? []).slice(1)],
      }
    if (type.kind === "map") {
      const [key, first] = Object.entries((base as Values | undefined) ?? {})[0] ?? [filler.key(0, spec), undefined]
      return { ...given, [name!]: { [key]: into(first) } }
    }
    return { ...given, [name!]: into(base) }
  }
  return within(resource.schema, sampleOf(resource) as Values, path)
}
