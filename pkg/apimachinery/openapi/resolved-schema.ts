import type { Resource } from "../resource.ts"
import { Definitions, type Schema } from "./schema.ts"
import { atOnce } from "./steps.ts"

/**
 * Returns the OpenAPI v3 schema of a kind with all references replaced by their definitions. A reference inside its own
 * definition becomes an object without known fields. Source: apiserver pkg/cel/openapi/resolver/refs.go.
 */
export function resolvedSchema({ schema, group, version, kind }: Resource): Schema {
  const definitions = new Definitions(3)
  const root = definitions.ref(schema, [{ group, version, kind }])
  const all = atOnce(definitions.finishing())
  const visited = new Set<string>()

  const resolve = (given: Schema): Schema => {
    const name = referenceIn(given)
    if (name === undefined) return withResolvedParts(given)
    if (visited.has(name)) return { type: "object" }
    visited.add(name)
    const resolved = withResolvedParts(all[name] ?? {})
    visited.delete(name)
    return resolved
  }
  const withResolvedParts = (given: Schema): Schema => {
    const { properties, additionalProperties, items, format } = given as Parts
    return {
      ...given,
      // Built-in kinds declare int-or-string by the format, custom resources by the extension.
      ...(format === "int-or-string" ? { "x-kubernetes-int-or-string": true } : {}),
      ...(properties === undefined
        ? {}
        : { properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, resolve(each)])) }),
      ...(typeof additionalProperties === "object" ? { additionalProperties: resolve(additionalProperties) } : {}),
      ...(items === undefined ? {} : { items: resolve(items) }),
    }
  }
  return resolve(root)
}

interface Parts {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly format?: string
}

/** Returns the name of the definition to which a schema refers, directly or through `allOf`. */
function referenceIn(schema: Schema): string | undefined {
  const { $ref, allOf = [] } = schema as { readonly $ref?: string; readonly allOf?: readonly Schema[] }
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf("/") + 1)
  for (const each of allOf) {
    const name = referenceIn(each)
    if (name !== undefined) return name
  }
  return undefined
}
