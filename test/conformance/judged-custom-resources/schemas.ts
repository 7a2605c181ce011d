import type { JsonSchema, ValidationRule } from "../../../pkg/apimachinery/structural/json-schema.ts"
import type { Choices } from "./choices.ts"

/** Rules of each type: those that hold for most values, those that do not, and transition rules. */
const RULES: Readonly<Record<string, readonly string[]>> = {
  integer: ["self >= 0", "self % 2 == 0 || self < 50", "self != oldSelf + 1", "oldSelf <= self", "self < 1000"],
  number: ["self > -10.5", "self < 100.0", "double(self) != 3.0"],
  string: [
    "self.startsWith('a') || size(self) < 6",
    "self == oldSelf || oldSelf == 'a'",
    "self.matches('^[a-z0-9:.-]*$')",
    "!self.contains('x')",
    "self.lowerAscii() == self",
  ],
  boolean: ["self || !self", "self == oldSelf"],
  array: [
    "size(self) < 3",
    "self.all(x, x == x)",
    "self.exists(x, true) || size(self) == 0",
    "self.isSorted() || true",
  ],
  object: ["has(self.a)", "!has(self.b) || has(self.a)", "size(self) < 3", "self == oldSelf || true", "true"],
}

/** Random structural schemas; nearly all are ones that a server accepts. */
export function schemaOf(choices: Choices, depth: number, ruleTimes = 5): JsonSchema {
  const made = plainSchema(choices, depth, ruleTimes)
  const rules = RULES[made.type ?? ""]
  if (rules === undefined || !choices.onceIn(ruleTimes)) return made
  const rule: ValidationRule = {
    rule: choices.one(rules),
    ...(choices.onceIn(3) ? { message: "is not as it should be" } : {}),
    ...(choices.onceIn(6) ? { messageExpression: "'bad: ' + string(size([1, 2]))" } : {}),
    ...(choices.onceIn(6) ? { reason: choices.one(["FieldValueForbidden", "FieldValueRequired"]) } : {}),
    ...(choices.onceIn(8) ? { optionalOldSelf: true } : {}),
  }
  return { ...made, "x-kubernetes-validations": [rule] }
}

function plainSchema(choices: Choices, depth: number, ruleTimes: number): JsonSchema {
  const nullable = choices.onceIn(10) ? { nullable: true } : {}
  const leaf = depth <= 0
  switch (choices.upTo(leaf ? 7 : 12)) {
    case 0:
    case 1:
      return {
        type: "integer",
        ...nullable,
        ...(choices.onceIn(3) ? { minimum: choices.upTo(5), exclusiveMinimum: choices.onceIn(3) } : {}),
        ...(choices.onceIn(3) ? { maximum: 5 + choices.upTo(100) } : {}),
        ...(choices.onceIn(6) ? { multipleOf: choices.one([2, 5]) } : {}),
        ...(choices.onceIn(4) ? { format: choices.one(["int32", "int64"]) } : {}),
        ...(choices.onceIn(6) ? { default: 6 } : {}),
      }
    case 2:
      return { type: "number", ...nullable, ...(choices.onceIn(3) ? { maximum: 10.5 } : {}) }
    case 3:
      return { type: "boolean", ...nullable, ...(choices.onceIn(4) ? { default: true } : {}) }
    case 4:
      return { "x-kubernetes-int-or-string": true }
    case 5:
    case 6:
      return {
        type: "string",
        ...nullable,
        ...choices.one<JsonSchema>([
          {},
          { minLength: 2, maxLength: 10 },
          { maxLength: 20 },
          { pattern: "^[a-z]+(-[a-z0-9]+)*$" },
          { enum: ["a", "b", "cc"] },
          { enum: ["a", "b", "cc"], default: "a" },
          {
            format: choices.one(["date-time", "ipv4", "uri", "uuid", "date", "byte", "duration", "hostname", "email"]),
          },
          { default: "abc" },
        ]),
      }
    case 7:
    case 8:
      return listSchema(choices, depth, ruleTimes)
    case 9:
      return {
        type: "object",
        additionalProperties: schemaOf(choices, depth - 1, ruleTimes),
        ...(choices.onceIn(3) ? { maxProperties: 2 } : {}),
      }
    default:
      return objectSchema(choices, depth, ruleTimes)
  }
}

export function objectSchema(choices: Choices, depth: number, ruleTimes = 5): JsonSchema {
  const names = ["a", "b", "c", "d", "e"].slice(0, 1 + choices.upTo(5))
  const properties = Object.fromEntries(names.map((name) => [name, schemaOf(choices, depth - 1, ruleTimes)]))
  const required = names.filter(() => choices.onceIn(4))
  return {
    type: "object",
    properties,
    ...(required.length === 0 ? {} : { required }),
    ...(choices.onceIn(8) ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
    ...(choices.onceIn(12) ? { "x-kubernetes-map-type": choices.one(["atomic", "granular"]) } : {}),
    ...(choices.onceIn(10) ? { anyOf: [{ required: [names[0]!] }, { required: [names.at(-1)!] }] } : {}),
    ...(choices.onceIn(14) ? { not: { required: ["zz"] } } : {}),
    ...(choices.onceIn(14)
      ? { oneOf: [{ required: [names[0]!] }, { properties: { [names.at(-1)!]: {} }, required: ["q"] }] }
      : {}),
  }
}

function listSchema(choices: Choices, depth: number, ruleTimes: number): JsonSchema {
  const bounds: JsonSchema = {
    ...(choices.onceIn(2) ? { maxItems: 3 } : {}),
    ...(choices.onceIn(5) ? { minItems: 1 } : {}),
  }
  switch (choices.upTo(4)) {
    case 0: {
      const item = objectSchema(choices, depth - 1, ruleTimes)
      const key = { type: choices.one(["string", "integer"]) }
      return {
        type: "array",
        ...bounds,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        items: {
          type: "object",
          properties: { ...item.properties, k: key },
          required: ["k"],
        },
      }
    }
    case 1:
      return {
        type: "array",
        ...bounds,
        "x-kubernetes-list-type": "set",
        items: { type: choices.one(["string", "integer"]) },
      }
    default:
      return {
        type: "array",
        ...bounds,
        ...(choices.onceIn(2) ? { "x-kubernetes-list-type": "atomic" } : {}),
        items: schemaOf(choices, depth - 1, ruleTimes),
      }
  }
}

const rule = (text: string, more: object = {}): object => ({ "x-kubernetes-validations": [{ rule: text, ...more }] })

/** Parts of a schema of which a server may refuse some. */
export const FAULTS: readonly object[] = [
  { type: undefined },
  { type: "foo" },
  { type: "array" },
  { type: "array", items: { type: "array", items: [{ type: "string" }] } },
  { type: "object", properties: { a: { type: "string" } }, additionalProperties: { type: "string" } },
  { type: "object", additionalProperties: false },
  { type: "object", properties: { a: {} } },
  { type: "object", patternProperties: { a: { type: "string" } } },
  { type: "object", dependencies: { a: ["b"] } },
  { uniqueItems: true },
  { uniqueItems: false },
  { $ref: "#/definitions/a" },
  { id: "x" },
  { definitions: { a: { type: "string" } } },
  { additionalItems: true },
  { format: "int32" },
  { format: "unknown-format" },
  { pattern: "(" },
  { pattern: "a(?=b)" },
  { default: 1 },
  { default: "x" },
  { default: {} },
  { default: null },
  { nullable: true, default: null },
  { enum: [] },
  { enum: ["a", "a"] },
  { enum: [1, "a", null] },
  { minimum: 5, maximum: 1 },
  { multipleOf: 0 },
  { multipleOf: -1 },
  { minLength: -1 },
  { maxItems: -5 },
  { required: ["nowhere"] },
  { required: ["a", "a"] },
  { "x-kubernetes-preserve-unknown-fields": false },
  { "x-kubernetes-embedded-resource": true },
  { "x-kubernetes-int-or-string": true },
  { type: undefined, "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
  { "x-kubernetes-list-type": "map" },
  { "x-kubernetes-list-type": "foo" },
  { "x-kubernetes-list-map-keys": ["a"] },
  { "x-kubernetes-map-type": "foo" },
  {
    type: "array",
    items: { type: "object", properties: { k: { type: "string" } } },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
  },
  {
    type: "array",
    items: { type: "object", properties: { k: { type: "string" } }, required: ["k"] },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k", "k"],
  },
  { type: "array", items: { type: "object" }, "x-kubernetes-list-type": "set" },
  { allOf: [{ type: "string" }] },
  { anyOf: [{ default: 1 }] },
  { oneOf: [{ nullable: true }] },
  { not: { description: "x" } },
  { anyOf: [{ properties: { zz: { minimum: 1 } } }] },
  { allOf: [{ "x-kubernetes-preserve-unknown-fields": true }] },
  rule(""),
  rule("self ==="),
  rule("nowhere"),
  rule("self.nowhere == 1"),
  rule("1 + 1"),
  rule("self + 'a' == 'b'"),
  rule("oldSelf == self"),
  rule("true", { message: "" }),
  rule("true", { message: "a\nb" }),
  rule("true", { messageExpression: "1" }),
  rule("true", { messageExpression: "'a' +" }),
  rule("true", { reason: "Whatever" }),
  rule("true", { fieldPath: ".nowhere" }),
  rule("true", { fieldPath: "bad path" }),
  rule("true", { fieldPath: "." }),
  rule("true", { optionalOldSelf: true }),
  rule("oldSelf.hasValue() && oldSelf.value() == self", { optionalOldSelf: true }),
  rule("has(self.metadata)"),
  { type: "object", additionalProperties: { type: "string" }, ...rule("self.all(k, self[k].matches('a.*b'))") },
  { type: "array", items: { type: "string" }, ...rule("self.all(x, self.all(y, self.all(z, x + y == z)))") },
  { type: "array", items: { type: "string" }, ...rule("self.all(x, self.all(y, x == y))") },
  { type: "array", items: { type: "object", properties: { x: { type: "integer", ...rule("self == oldSelf") } } } },
  {
    type: "array",
    maxItems: 10,
    items: { type: "string", maxLength: 10 },
    ...rule("self.all(x, self.all(y, x != y || x == y))"),
  },
  { type: "string", maxLength: 5, ...rule("isURL(self) || quantity('1').isInteger()") },
  { type: "object", properties: { if: { type: "string" } }, ...rule("self.__if__ == 'a'") },
  { type: "object", properties: { "a-b": { type: "string" } }, ...rule("self.a__dash__b == 'a' || true") },
  { type: "string", ...rule("duration(self) < duration('1h')") },
  { type: "string", ...rule("ip(self).family() == 4 || cidr('10.0.0.0/8').containsIP(self)") },
]

/** A schema with a fault at a random place below its root. */
export function withFault(choices: Choices, schema: JsonSchema): JsonSchema {
  const fault = choices.one(FAULTS) as JsonSchema
  return changedWithin(choices, schema, fault)
}

function changedWithin(choices: Choices, schema: JsonSchema, fault: JsonSchema): JsonSchema {
  const names = Object.keys(schema.properties ?? {})
  if (names.length > 0 && !choices.onceIn(4)) {
    const name = choices.one(names)
    const inner = schema.properties![name]!
    const changed = choices.onceIn(2) ? { ...inner, ...fault } : changedWithin(choices, inner, fault)
    return { ...schema, properties: { ...schema.properties, [name]: changed } }
  }
  if (typeof schema.items === "object" && !Array.isArray(schema.items))
    return { ...schema, items: changedWithin(choices, schema.items as JsonSchema, fault) }
  return { ...schema, ...fault }
}
