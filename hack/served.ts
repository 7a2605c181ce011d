/**
 * Tables of what is served, made of the declarations, and of what is missing, made of the conformance ledger: `bun
 * hack/served.ts` writes them to README.md and docs/compatibility.md.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { RESOURCES } from "../pkg/api/resources.ts"
import type { Resource } from "../pkg/apimachinery/resource.ts"
import { readLedger } from "../test/conformance/ledger/ledger.ts"

const ROOT = join(import.meta.dirname, "..")
const PAGES = [
  {
    file: "README.md",
    tables: [
      { head: "| group | version | kinds |", rows: groupRows },
      { head: "| missing entry | why |", rows: missingRows },
    ],
  },
  {
    file: "docs/compatibility.md",
    tables: [{ head: "| resource | group | version | subresources |", rows: resourceRows }],
  },
] as const

/** A line for each group and version, with its kinds. */
function groupRows(): readonly string[] {
  const byVersion = Map.groupBy(RESOURCES, ({ apiVersion }) => apiVersion)
  return [...byVersion.values()].map((kinds) => {
    const { version } = kinds[0]!
    return `| ${groupOf(kinds[0]!)} | ${version} | ${kinds.map(({ kind }) => kind).join(", ")} |`
  })
}

/** A line for each resource, with its subresources. */
function resourceRows(): readonly string[] {
  return RESOURCES.map((resource) => {
    const { plural, version, subresources: { status, scale, other = {} } = {} } = resource
    const names = [...(status ? ["status"] : []), ...(scale ? ["scale"] : []), ...Object.keys(other)].sort()
    return `| ${plural} | ${groupOf(resource)} | ${version} | ${names.length === 0 ? "–" : names.join(", ")} |`
  })
}

/** A line for each entry of the conformance list that no test stands for. */
function missingRows(): readonly string[] {
  return readLedger().flatMap(({ codename, missing }) =>
    missing === undefined ? [] : [`| ${codename.replaceAll("|", "\\|")} | ${missing} |`],
  )
}

const groupOf = ({ group }: Resource): string => (group === "" ? "core" : group)

/** The pages as they are, and as they should be. */
export const pages = (): readonly { readonly file: string; readonly text: string; readonly wanted: string }[] =>
  PAGES.map(({ file, tables }) => {
    const text = readFileSync(join(ROOT, file), "utf8")
    return { file, text, wanted: tables.reduce((page, { head, rows }) => withTable(page, file, head, rows()), text) }
  })

/** Returns the page with other rows in the table with this head. */
function withTable(page: string, file: string, head: string, rows: readonly string[]): string {
  const start = page.indexOf(`${head}\n`)
  if (start < 0) throw new Error(`${file} has no table with the head ${JSON.stringify(head)}`)
  const end = page.indexOf("\n\n", start)
  const rule = head.replaceAll(/[^|]+/g, " --- ")
  return page.slice(0, start) + [head, rule, ...rows].join("\n") + page.slice(end)
}

if (import.meta.main) for (const { file, wanted } of pages()) writeFileSync(join(ROOT, file), wanted)
