/**
 * Tables of what is served, made of the declarations: `bun hack/served.ts` writes them to README.md (groups and kinds)
 * and docs/compatibility.md (resources and subresources).
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { RESOURCES } from "../pkg/api/resources.ts"
import type { Resource } from "../pkg/apimachinery/resource.ts"

const ROOT = join(import.meta.dirname, "..")
const PAGES = [
  { file: "README.md", head: "| group | version | kinds |", table: groupTable },
  { file: "docs/compatibility.md", head: "| resource | group | version | subresources |", table: resourceTable },
] as const

/** A line for each group and version, with its kinds. */
function groupTable(): readonly string[] {
  const byVersion = Map.groupBy(RESOURCES, ({ apiVersion }) => apiVersion)
  return [...byVersion.values()].map((kinds) => {
    const { version } = kinds[0]!
    return `| ${groupOf(kinds[0]!)} | ${version} | ${kinds.map(({ kind }) => kind).join(", ")} |`
  })
}

/** A line for each resource, with its subresources. */
function resourceTable(): readonly string[] {
  return RESOURCES.map((resource) => {
    const { plural, version, subresources: { status, scale, other = {} } = {} } = resource
    const names = [...(status ? ["status"] : []), ...(scale ? ["scale"] : []), ...Object.keys(other)].sort()
    return `| ${plural} | ${groupOf(resource)} | ${version} | ${names.length === 0 ? "–" : names.join(", ")} |`
  })
}

const groupOf = ({ group }: Resource): string => (group === "" ? "core" : group)

/** The pages as they are, and as they should be. */
export const pages = (): readonly { readonly file: string; readonly text: string; readonly wanted: string }[] =>
  PAGES.map(({ file, head, table }) => {
    const text = readFileSync(join(ROOT, file), "utf8")
    const start = text.indexOf(`${head}\n`)
    if (start < 0) throw new Error(`${file} has no table with the head ${JSON.stringify(head)}`)
    const end = text.indexOf("\n\n", start)
    const rule = head.replaceAll(/[a-z]+/g, "---")
    return { file, text, wanted: text.slice(0, start) + [head, rule, ...table()].join("\n") + text.slice(end) }
  })

if (import.meta.main) for (const { file, wanted } of pages()) writeFileSync(join(ROOT, file), wanted)
