import { e, f, message } from "../../../apimachinery/fields.ts"
import type { Fields, Message } from "../../../apimachinery/field-spec.ts"
import type { JsonSchema } from "../../../apimachinery/structural/json-schema.ts"

const PACKAGE = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"

/** Returns the OpenAPI name of a message of the group. */
export const named = (name: string): string => `${PACKAGE}.${name}`

const isList = (value: unknown): boolean => Array.isArray(value)
const isBool = (value: unknown): boolean => typeof value === "boolean"

/** Declares a Go type that decodes its own JSON: a schema, or a value of another type. */
const orElse = (name: string, doc: string, ownJson: NonNullable<Message["rules"]["ownJson"]>): (() => Message) => {
  let made: Message | undefined
  return () => (made ??= { name: named(name), doc, fields: JSONSchemaProps.fields, rules: { ownJson } })
}
const orArray = orElse("JSONSchemaPropsOrArray", "A schema, or a list of schemas.", {
  takes: isList,
  number: 1,
  items: "self",
})
const orBool = orElse("JSONSchemaPropsOrBool", "A schema, or whether anything is allowed.", {
  takes: isBool,
  number: 2,
})
const orStringArray = orElse("JSONSchemaPropsOrStringArray", "A schema, or names of properties.", {
  takes: isList,
  number: 1,
  items: "text",
})
const itself = (): Message => JSONSchemaProps

export const ValidationRule = message(named("ValidationRule"), "A rule in CEL.", {
  rule: f
    .string(1, "CEL expression that must be true; self is the value, oldSelf the value that it replaces.")
    .printZero(),
  message: f.string(2, "Message when the rule is violated."),
  messageExpression: f.string(3, "Expression that gives the message."),
  reason: f.string(4, "Machine-readable reason of the refusal: FieldValueInvalid unless given.").pointer(),
  fieldPath: f.string(5, "Path of the field that the error names, relative to the value."),
  optionalOldSelf: f
    .bool(6, "Whether a rule with oldSelf also runs when no value is replaced; oldSelf is then an optional.")
    .pointer(),
})

const ExternalDocumentation = message(named("ExternalDocumentation"), "Documentation elsewhere.", {
  description: f.string(1, "Description of the external documentation."),
  url: f.string(2, "Where it is."),
})

const schemas = (number: number, doc: string) => f.listRecursive<JsonSchema>(number, itself, doc).atomic()
const schemasByName = (number: number, of: () => Message, doc: string) => f.mapRecursive<JsonSchema>(number, of, doc)

const FIELDS: Fields = {
  id: f.string(1, "Not supported."),
  $schema: f.string(2, "Version of JSON schema that is meant."),
  $ref: f.string(3, "Not supported.").pointer(),
  description: f.string(4, "Description of the value."),
  type: f.string(5, "string, integer, number, boolean, array or object."),
  format: f.string(6, "Format of a text or size of a number; unknown ones are not checked."),
  title: f.string(7, "Short name of the schema."),
  default: f.json(8, "Default of the value."),
  maximum: f.double(9, "Largest number.").pointer(),
  exclusiveMaximum: f.bool(10, "The maximum itself is not allowed."),
  minimum: f.double(11, "Smallest number.").pointer(),
  exclusiveMinimum: f.bool(12, "The minimum itself is not allowed."),
  maxLength: f.int64(13, "Most characters of a text.").pointer(),
  minLength: f.int64(14, "Fewest characters of a text.").pointer(),
  pattern: f.string(15, "Regular expression (RE2) that is found in a text."),
  maxItems: f.int64(16, "Most items of a list.").pointer(),
  minItems: f.int64(17, "Fewest items of a list.").pointer(),
  uniqueItems: f.bool(18, "Not supported."),
  multipleOf: f.double(19, "The number must be a multiple of this.").pointer(),
  enum: f.list(20, e.json, "The only values that are allowed.").atomic(),
  maxProperties: f.int64(21, "Most members of an object.").pointer(),
  minProperties: f.int64(22, "Fewest members of an object.").pointer(),
  required: f.list(23, e.string, "Required properties.").atomic(),
  items: f.recursive<JsonSchema>(24, orArray, "Of the items of a list."),
  allOf: schemas(25, "All of these hold."),
  oneOf: schemas(26, "Exactly one of these holds."),
  anyOf: schemas(27, "At least one of these holds."),
  not: f.recursive<JsonSchema>(28, itself, "Does not hold."),
  properties: schemasByName(29, itself, "Of the members of an object."),
  additionalProperties: f.recursive<JsonSchema>(30, orBool, "Of members that no property is named for."),
  patternProperties: schemasByName(31, itself, "Not supported."),
  dependencies: schemasByName(32, orStringArray, "Not supported."),
  additionalItems: f.recursive<JsonSchema>(33, orBool, "Not supported."),
  definitions: schemasByName(34, itself, "Not supported."),
  externalDocs: f.message(35, ExternalDocumentation, "Documentation elsewhere."),
  example: f.json(36, "An example."),
  nullable: f.bool(37, "null is allowed."),
  "x-kubernetes-preserve-unknown-fields": f.bool(38, "Members that the schema does not know are kept.").pointer(),
  "x-kubernetes-embedded-resource": f.bool(39, "The value is a Kubernetes object."),
  "x-kubernetes-int-or-string": f.bool(40, "The value is an integer or a text."),
  "x-kubernetes-list-map-keys": f.list(41, e.string, "Keys of the list's items.").atomic(),
  "x-kubernetes-list-type": f.string(42, "How lists are merged: atomic, set or map.").pointer(),
  "x-kubernetes-map-type": f.string(43, "How objects are merged: granular or atomic.").pointer(),
  "x-kubernetes-validations": f.list(44, ValidationRule, "Rules in CEL.").listMap("rule").merge("rule"),
}

/** An OpenAPI v3 schema with the extensions of Kubernetes. */
export const JSONSchemaProps: Message = message(named("JSONSchemaProps"), "A JSON schema.", FIELDS)
