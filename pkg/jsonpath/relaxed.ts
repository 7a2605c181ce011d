import { JsonPathError } from "./jsonpath-error.ts"

/**
 * Returns a template for a path that need not have braces or a dot: `metadata.name`, `.metadata.name`,
 * `{metadata.name}`. Source: kubectl pkg/cmd/get/customcolumn.go. @throws JsonPathError
 */
export function relaxedJsonPath(path: string): string {
  if (path === "") return path
  const match = /^\{\.?([^{}]+)\}$|^\.?([^{}]+)$/.exec(path)
  if (match === null)
    throw new JsonPathError(
      "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
    )
  return `{.${match[1] ?? match[2]!}}`
}
