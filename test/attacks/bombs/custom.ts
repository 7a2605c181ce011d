/**
 * Makes the largest custom objects that the server takes: of the kinds of Gateway API by their schemas, and of
 * definitions whose schemas multiply what an object has.
 */
import type { Cause } from "../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { JsonSchema } from "../../../pkg/apimachinery/structural/json-schema.ts"
import { DEFINITIONS } from "../../../pkg/gateway-api/definitions.ts"
import type { Bomb } from "./bombs.ts"
import type { ClusterProcess } from "./cluster-process.ts"

const GROUP = "bombs.example.com"
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

const many = <T>(count: number, make: (i: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => make(i))
const named = (count: number, make: (i: number) => unknown) =>
  Object.fromEntries(many(count, (i) => [`k${i}`, make(i)] as const))
const list = (items: JsonSchema, more: JsonSchema = {}): JsonSchema => ({ type: "array", items, ...more })
const text: JsonSchema = { type: "string" }
const short: JsonSchema = { type: "string", maxLength: 20 }
const byKey = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] } as const
const rules = (...given: readonly object[]) => ({ "x-kubernetes-validations": given }) as JsonSchema

/** For each the schema of a field, and the value that an object has there. */
const FIELDS: Readonly<Record<string, readonly [JsonSchema, () => unknown]>> = {
  "default of each item": [
    list({ type: "object", properties: { a: { ...text, default: "x".repeat(100_000) } } }),
    () => many(700_000, () => ({})),
  ],
  "set of texts": [list(text, { "x-kubernetes-list-type": "set" }), () => many(120_000, (i) => `a${i}`)],
  "set of numbers": [list({ type: "integer" }, { "x-kubernetes-list-type": "set" }), () => many(200_000, (i) => i)],
  "items by key": [
    list({ type: "object", required: ["k"], properties: { k: text } }, byKey),
    () => many(90_000, (i) => ({ k: `a${i}` })),
  ],
  map: [{ type: "object", additionalProperties: text }, () => named(90_000, () => "a")],
  "unknown fields": [{ type: "object", properties: { a: text } }, () => named(150_000, () => "a")],
  enum: [list({ ...text, enum: many(20_000, (i) => `e${i}`) }), () => many(130_000, (i) => `e${i % 20_000}`)],
  "not in an enum": [list({ ...text, enum: many(20_000, (i) => `e${i}`) }), () => many(130_000, (i) => `w${i}`)],
  "objects in an enum": [
    list({ type: "object", "x-kubernetes-preserve-unknown-fields": true, enum: many(2000, (a) => ({ a })) }),
    () => many(100_000, (i) => ({ a: i % 2000 })),
  ],
  pattern: [list({ ...text, pattern: "^(a?){500}a*$" }), () => many(100, () => "a".repeat(14_000))],
  anyOf: [list({ ...text, anyOf: many(2000, (i) => ({ pattern: `^x${i}$` })) }), () => many(120_000, (i) => `x${i}`)],
  oneOf: [list({ type: "integer", oneOf: many(2000, (i) => ({ enum: [i] })) }), () => many(300_000, (i) => i % 2000)],
  not: [list({ ...text, allOf: many(1000, (i) => ({ not: { pattern: `^z${i}$` } })) }), () => many(120_000, String)],
  "required fields": [list({ type: "object", required: many(500, (i) => `r${i}`) }), () => many(200_000, () => ({}))],
  "wrong types": [list({ type: "integer" }), () => many(200_000, () => "a")],
  "rule of each with each": [
    list({ ...text, maxLength: 10 }, { maxItems: 1000, ...rules({ rule: "self.all(x, self.exists_one(y, x == y))" }) }),
    () => many(1000, (i) => `a${i}`),
  ],
  "rule of each item": [
    list({ ...short, ...rules({ rule: "self.size() > 0 && self != 'b'" }) }, { maxItems: 50_000 }),
    () => many(50_000, (i) => `a${i}`),
  ],
  "rule that each item breaks": [
    list({ ...short, ...rules({ rule: "self == 'b'", message: "m".repeat(2000) }) }, { maxItems: 50_000 }),
    () => many(50_000, (i) => `a${i}`),
  ],
  "rule with a pattern": [
    list({ ...text, maxLength: 1000, ...rules({ rule: "self.matches('^(a?){100}a*$')" }) }, { maxItems: 100 }),
    () => many(100, () => "a".repeat(1000)),
  ],
  "rule with a long message": [
    list(
      { ...text, maxLength: 1000, ...rules({ rule: "self == 'b'", messageExpression: "self + self + self" }) },
      { maxItems: 1000 },
    ),
    () => many(1000, () => "a".repeat(1000)),
  ],
  "rule of changes": [
    list(
      {
        type: "object",
        required: ["k"],
        properties: { k: short, v: { ...short, ...rules({ rule: "self == oldSelf" }) } },
      },
      { maxItems: 5000, ...byKey },
    ),
    () => many(5000, (i) => ({ k: `a${i}`, v: "a" })),
  ],
  "many rules": [
    {
      type: "object",
      properties: { a: text },
      ...rules(...many(3000, (i) => ({ rule: `!has(self.a) || self.a != '${i}'` }))),
    },
    () => ({ a: "a" }),
  ],
}

/** What measuring needs to know of a custom kind. */
const customKind = (group: string, version: string, plural: string, kind: string, scope: string): Resource =>
  ({
    group,
    version,
    apiVersion: `${group}/${version}`,
    plural,
    kind,
    scope,
    verbs: ["delete"],
    definition: {},
  }) as never

/** Yields an object of each definition with a title that is wanted; the definition is there until the next is asked for. */
export async function* definedBombs(
  cluster: () => ClusterProcess,
  isWanted: (title: string) => boolean = () => true,
): AsyncGenerator<Bomb> {
  for (const [i, [name, [schema, value]]] of Object.entries(FIELDS).entries()) {
    if (!isWanted(name)) continue
    const [plural, kind] = [`b${i}s`, `B${i}`]
    const definition = {
      metadata: { name: `${plural}.${GROUP}` },
      spec: {
        group: GROUP,
        scope: "Namespaced",
        names: { plural, kind },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", properties: { v: schema } } },
            additionalPrinterColumns: [{ name: "v", type: "string", jsonPath: ".v" }],
          },
        ],
      },
    }
    const made = await cluster().send("POST", CRDS, definition)
    if (made.status !== 201) throw new Error(`Cannot define ${name}: ${made.body.toString().slice(0, 500)}`)
    const object = { apiVersion: `${GROUP}/v1`, kind, metadata: { name: "bomb" }, v: value() }
    yield { resource: customKind(GROUP, "v1", plural, kind, "Namespaced"), title: `custom object: ${name}`, object }
    await cluster().send("DELETE", `${CRDS}/${plural}.${GROUP}`)
  }
}

/** Texts for fields with a pattern; the first that matches is taken. */
const TEXTS: readonly ((n: number) => string)[] = [
  (n) => `a${n}`,
  (n) => `a${n}.example.com`,
  (n) => `/a${n}`,
  (n) => `example.com/a${n}`,
  (n) => `10.0.${n >> 8}.${n & 255}`,
  () => "1s",
]
/** Fields without a limit get so many items, and a whole object so many values. */
const MOST_ITEMS = 2000
const MOST_VALUES = 30_000
const MOST_GUESSES = 60

/** Makes values of a schema in which every list is as long as it may be, but for fields that the server has refused. */
class Largest {
  readonly left = new Set<string>()
  #values = 0

  of(schema: JsonSchema): unknown {
    this.#values = 0
    return this.#value(schema, "", 0)
  }

  #value(schema: JsonSchema, path: string, n: number): unknown {
    this.#values++
    if (schema.enum !== undefined && schema.enum.length > 0) return schema.enum[0]
    switch (schema.type) {
      case "object":
        return this.#object(schema, path, n)
      case "array": {
        const { minItems = 0, maxItems = MOST_ITEMS, items } = schema
        const count = this.#values > MOST_VALUES ? minItems : Math.min(maxItems, MOST_ITEMS)
        return many(count, (i) => this.#value(items as JsonSchema, path, i))
      }
      case "integer":
        return Math.min((schema.minimum ?? 1) + n, schema.maximum ?? Number.MAX_SAFE_INTEGER)
      case "boolean":
        return true
      default: {
        const pattern = schema.pattern === undefined ? undefined : new RegExp(schema.pattern)
        const made = TEXTS.map((make) => make(n)).find((given) => pattern?.test(given) !== false)
        return (made ?? "a").slice(0, schema.maxLength)
      }
    }
  }

  #object({ properties = {}, required = [], additionalProperties }: JsonSchema, path: string, n: number): unknown {
    if (typeof additionalProperties === "object")
      return Object.fromEntries(many(16, (i) => [`k${i}`, this.#value(additionalProperties, path, i)] as const))
    return Object.fromEntries(
      Object.entries(properties).flatMap(([name, schema]) => {
        const here = path === "" ? name : `${path}.${name}`
        const isLeftOut = this.left.has(here) || (this.#values > MOST_VALUES && !required.includes(name))
        return isLeftOut ? [] : [[name, this.#value(schema, here, n)] as const]
      }),
    )
  }
}

interface Definition {
  readonly group: string
  readonly scope: string
  readonly names: { readonly plural: string; readonly kind: string }
  readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: JsonSchema } }[]
}

/** Yields an object of each kind of Gateway API in which every list is long. Fields that the server refuses are left out. */
export async function* gatewayBombs(cluster: () => ClusterProcess): AsyncGenerator<Bomb> {
  for (const { spec } of DEFINITIONS as unknown as readonly { readonly spec: Definition }[]) {
    const { group, names, versions, scope } = spec
    const [version] = versions
    const resource = customKind(group, version!.name, names.plural, names.kind, scope)
    const schema = version!.schema.openAPIV3Schema
    const inner = schema.properties!["spec"]!
    const largest = new Largest()
    const all = `/apis/${group}/${version!.name}${scope === "Namespaced" ? "/namespaces/default" : ""}/${names.plural}`
    for (let guess = 0; guess < MOST_GUESSES; guess++) {
      const object = {
        apiVersion: resource.apiVersion,
        kind: names.kind,
        metadata: { name: "bomb" },
        spec: largest.of(inner),
      }
      const { status, body } = await cluster().send("POST", `${all}?dryRun=All`, object)
      if (status === 201) {
        yield { resource, title: `${names.kind} every list by its schema`, object }
        break
      }
      const { details } = JSON.parse(body.toString()) as { readonly details?: { readonly causes?: readonly Cause[] } }
      const before = largest.left.size
      for (const { field = "" } of details?.causes ?? [])
        largest.left.add(field.replace(/\[[^\]]*\]/g, "").replace(/^spec\.?/, ""))
      if (largest.left.size === before || largest.left.has("")) {
        console.log(names.kind, "has no such object:", body.toString().slice(0, 300))
        break
      }
    }
  }
}
