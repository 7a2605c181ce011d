import type { JsonSchema } from "./json-schema.ts"

/** The old value in an update; `value` is undefined when no part of the old object corresponds. */
export interface Old {
  readonly value: unknown
}

type Values = Readonly<Record<string, unknown>>

/**
 * Returns a function that finds the old item which corresponds to a list item, which is only possible when items have
 * keys. Source: apiserver pkg/cel/common/equality.go.
 */
export function counterpartsOf(schema: JsonSchema, old: unknown): ((item: unknown) => Old | undefined) | undefined {
  const keys = schema["x-kubernetes-list-map-keys"]
  if (schema["x-kubernetes-list-type"] !== "map" || keys === undefined || !Array.isArray(old)) return undefined
  const keyOf = (item: unknown): string =>
    JSON.stringify(keys.map((key) => (item as Values | null | undefined)?.[key] ?? null))
  const known = new Map<string, unknown>()
  for (const item of old as readonly unknown[]) {
    const key = keyOf(item)
    if (!known.has(key)) known.set(key, item)
  }
  return (item) => {
    const key = keyOf(item)
    return known.has(key) ? { value: known.get(key) } : undefined
  }
}

/** Returns the old value of a field; undefined when the struct or map is atomic. */
export function counterpartIn(schema: JsonSchema, old: Old | undefined, name: string): Old | undefined {
  if (old === undefined || schema["x-kubernetes-map-type"] === "atomic") return undefined
  const { value } = old
  if (typeof value !== "object" || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
    return undefined
  return { value: (value as Values)[name] }
}
