import { ApiError } from "../../apimachinery/errors.ts"
import { exactValue } from "../../apimachinery/json/exact-number.ts"
import { isJsonObject } from "../../apimachinery/json/json-value.ts"
import { applyJsonPatch } from "../../apimachinery/patch/json.ts"
import { parseYaml } from "../../yaml/yaml.ts"
import { fromValue } from "../node/from-value.ts"
import { toValue } from "../node/to-value.ts"
import type { Resource } from "../resource/resource.ts"

/** The operations of a JSON patch (RFC 6902). */
export type JsonPatch = readonly unknown[]

/** Reads a JSON patch, which may be written in YAML; undefined for null. @throws Error in Go's words */
export function readJsonPatch(text: string): JsonPatch | undefined {
  const value: unknown = text.startsWith("[") ? parseJson(text) : parseYaml(text).value
  if (value === null || value === undefined) return undefined
  if (!Array.isArray(value)) throw new Error(mismatch(value, "jsonpatch.Patch"))
  for (const operation of value)
    if (operation !== null && !isJsonObject(operation)) throw new Error(mismatch(operation, "jsonpatch.Operation"))
  return value
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, exactValue)
  } catch {
    throw new Error("invalid character in JSON patch")
  }
}

function mismatch(value: unknown, type: string): string {
  const name = Array.isArray(value)
    ? "array"
    : isJsonObject(value)
      ? "object"
      : typeof value === "boolean"
        ? "bool"
        : typeof value
  return `json: cannot unmarshal ${name} into Go value of type ${type}`
}

/** Applies a JSON patch to an object. What a build remembers of the object stays. */
export function applyToResource(resource: Resource, patch: JsonPatch): void {
  const before = resource.annotations
  resource.node = fromValue(applied(toValue(resource.node), patch))
  const kept = Object.entries(before).filter(
    ([name]) => name.startsWith("internal.config.kubernetes.io/") || LEGACY.has(name),
  )
  resource.annotations = { ...resource.annotations, ...Object.fromEntries(kept) }
}

const LEGACY: ReadonlySet<string> = new Set([
  "config.kubernetes.io/path",
  "config.kubernetes.io/index",
  "config.k8s.io/id",
])

function applied(value: unknown, patch: JsonPatch): unknown {
  try {
    return applyJsonPatch(value, patch)
  } catch (err) {
    if (err instanceof ApiError && typeof err.cause === "string") throw new Error(err.cause, { cause: err })
    throw err
  }
}
