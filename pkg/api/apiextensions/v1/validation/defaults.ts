import type { Cause } from "../../../../apimachinery/errors.ts"
import { at, atKey, invalidValue } from "../../../../apimachinery/validation/field-errors.ts"
import { DecodeError } from "../../../../apimachinery/decoding/decoder-cursor.ts"
import { unknownIn } from "../../../../apimachinery/structural/coerce.ts"
import { embeddedFaults } from "../../../../apimachinery/structural/embedded.ts"
import { itemsOf, type JsonSchema } from "../../../../apimachinery/structural/json-schema.ts"
import { ruleFaults } from "../rules/rule-faults.ts"
import { schemaFaults } from "../../../../apimachinery/structural/validate.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Returns faults of defaults that are not valid by their own schemas, or have undeclared fields. Defaults in the
 * metadata of an embedded resource are only checked in objects. Source: apiextensions-apiserver
 * pkg/apiserver/schema/defaulting/validation.go.
 */
export function defaultFaults(schema: JsonSchema, path: string, isRoot = true): readonly Cause[] {
  const causes: Cause[] = []
  const { default: value, properties = {} } = schema
  if (value !== undefined && value !== null) pushAll(causes, ownFaults(schema, value, at(path, "default")))
  const items = itemsOf(schema)
  if (items !== undefined) pushAll(causes, defaultFaults(items, at(path, "items"), false))
  const isResource = isRoot || schema["x-kubernetes-embedded-resource"] === true
  for (const [name, property] of Object.entries(properties))
    if (!isResource || !["metadata", "apiVersion", "kind"].includes(name))
      pushAll(causes, defaultFaults(property, atKey(at(path, "properties"), name), false))
  return causes
}

function ownFaults(schema: JsonSchema, value: unknown, path: string): readonly Cause[] {
  const causes: Cause[] = []
  try {
    if (unknownIn(schema, value).length > 0) causes.push(invalidValue(path, value, "must not have unknown fields"))
  } catch (err) {
    if (err instanceof DecodeError) return [invalidValue(path, value, err.message)]
    throw err
  }
  const embedded = embeddedFaults(schema, value)
  if (embedded.length > 0)
    return [...causes, ...embedded.map((cause) => ({ ...cause, field: at(path, cause.field ?? "") }))]
  pushAll(causes, schemaFaults(schema, value, path))
  if (causes.length > 0) return causes
  // A default is validated like a new value, without an old one.
  return ruleFaults(schema, value, undefined).map((cause) => ({
    ...cause,
    field: cause.field === "<nil>" ? path : at(path, cause.field ?? ""),
  }))
}
