import { deepEqual } from "../json/equal.ts"
import { isJsonObject } from "../json/json-value.ts"
import type { Schema } from "./schema.ts"
import { pushAll } from "../../lists/push-all.ts"

/** A document of another server, and the prefix of the paths to take from it. */
export interface Addition {
  readonly document: Schema
  readonly prefix: string
}

/**
 * Returns a version 2 document with the paths of another one below a prefix, and the definitions they need. If both
 * have different definitions with the same name, that of the other document is renamed (`name_v2`, `name_v3` …).
 * Source: kube-openapi pkg/aggregator MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters.
 */
export function merged(base: Schema, { document, prefix }: Addition): Schema {
  const basePaths = membersOf(base["paths"])
  const baseDefinitions = membersOf(base["definitions"])
  const definitions = membersOf(document["definitions"])
  const paths = Object.fromEntries(
    Object.entries(membersOf(document["paths"])).filter(
      ([path]) => path.startsWith(prefix) && !Object.hasOwn(basePaths, path),
    ),
  )
  const needed = definitionsBelow(paths, definitions)
  const renames = new Map<string, string>()
  for (const name of needed) {
    if (!Object.hasOwn(baseDefinitions, name) || deepEqual(baseDefinitions[name], definitions[name])) continue
    renames.set(name, freeName(name, baseDefinitions, definitions))
  }
  const renamed = (value: unknown): unknown => withReferences(value, (name) => renames.get(name) ?? name)
  return {
    ...base,
    paths: { ...basePaths, ...(renamed(paths) as Schema) },
    definitions: {
      ...baseDefinitions,
      ...Object.fromEntries(
        [...needed].map((name) => [renames.get(name) ?? name, renamed(definitions[name])] as const),
      ),
    },
  }
}

const PREFIX = "#/definitions/"

/** Returns the names of all definitions to which a value refers, directly or through other definitions. */
function definitionsBelow(value: unknown, definitions: Schema): ReadonlySet<string> {
  const found = new Set<string>()
  const waiting: unknown[] = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (Array.isArray(next)) pushAll(waiting, next as unknown[])
    else if (isJsonObject(next)) {
      const { $ref } = next
      if (typeof $ref === "string" && $ref.startsWith(PREFIX)) {
        const name = $ref.slice(PREFIX.length)
        if (!found.has(name) && Object.hasOwn(definitions, name)) {
          found.add(name)
          waiting.push(definitions[name])
        }
      }
      pushAll(waiting, Object.values(next))
    }
  }
  return found
}

function withReferences(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((one) => withReferences(one, rename))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      key === "$ref" && typeof one === "string" && one.startsWith(PREFIX)
        ? PREFIX + rename(one.slice(PREFIX.length))
        : withReferences(one, rename),
    ]),
  )
}

function freeName(name: string, ...taken: readonly Schema[]): string {
  for (let n = 2; ; n++) {
    const next = `${name}_v${n}`
    if (!taken.some((definitions) => Object.hasOwn(definitions, next))) return next
  }
}

export const membersOf = (value: unknown): Schema => (isJsonObject(value) ? value : {})
