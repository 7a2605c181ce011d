import { countOf, type Entry } from "./ledger.ts"

export type Outcome = "passed" | "failed" | "skipped"

const UNESCAPED: Record<string, string> = { "&quot;": '"', "&apos;": "'", "&lt;": "<", "&gt;": ">", "&amp;": "&" }
const unescape = (text: string): string => text.replaceAll(/&(quot|apos|lt|gt|amp);/g, (entity) => UNESCAPED[entity]!)

/**
 * Reads the JUnit report of `bun test`. A key is a file below test/ and a title, separated by a tab. If several tests
 * of a file have the same title, it has passed when all of them have.
 */
export function outcomesOf(junit: string): Map<string, Outcome> {
  const outcomes = new Map<string, Outcome>()
  for (const [, attributes = "", open, body = ""] of junit.matchAll(
    /<testcase ([^>]*?)(?:\/>|(>)([\s\S]*?)<\/testcase>)/g,
  )) {
    const attribute = (name: string) => unescape(new RegExp(`(?:^| )${name}="([^"]*)"`).exec(attributes)?.[1] ?? "")
    const key = `${attribute("file").replace(/^test\//, "")}\t${attribute("name")}`
    const found: Outcome =
      open === undefined
        ? "passed"
        : body.includes("<skipped")
          ? "skipped"
          : body.includes("<failure")
            ? "failed"
            : "passed"
    const before = outcomes.get(key)
    if (before === undefined || before === "passed" || found === "failed") outcomes.set(key, found)
  }
  return outcomes
}

/** Returns the table of a run: the names of failed entries, and for each SIG how many passed. */
export function tableOf(entries: readonly Entry[], outcomes: ReadonlyMap<string, Outcome>): string {
  const results = entries.map((entry) => ({ entry, ...resultOf(entry, outcomes) }))
  const lines: string[] = []
  for (const kind of ["missing", "skipped", "failed"] as const) {
    const those = results.filter(({ result }) => result === kind)
    if (those.length === 0) continue
    lines.push("", `${kind.toUpperCase()}:`)
    for (const { entry, why } of those) lines.push(`  ${entry.codename}`, `      ${why}`)
  }
  const row = (cells: readonly (string | number)[]) =>
    cells.map((cell, i) => (i === 0 ? String(cell).padEnd(22) : String(cell).padStart(9))).join("")
  const count = (of: readonly (typeof results)[number][], kind: string) =>
    of.filter(({ result }) => result === kind).length
  lines.push("", row(["", "entries", "passed", "failed", "skipped", "missing"]))
  const sigs = [...new Set(entries.map(({ sig }) => sig))].toSorted()
  for (const sig of [...sigs, "all"]) {
    const of = results.filter(({ entry }) => sig === "all" || entry.sig === sig)
    lines.push(row([sig, of.length, ...["passed", "failed", "skipped", "missing"].map((kind) => count(of, kind))]))
  }
  lines.push("", `Tests stand for ${countOf(entries)} entries; ${count(results, "passed")} of them passed here.`)
  return lines.join("\n")
}

function resultOf(
  { standIn, missing }: Entry,
  outcomes: ReadonlyMap<string, Outcome>,
): { readonly result: Outcome | "missing"; readonly why: string } {
  if (standIn === undefined) return { result: "missing", why: missing ?? "" }
  const test = `${standIn.file}: ${standIn.title}`
  const outcome = outcomes.get(`${standIn.file}\t${standIn.title}`)
  if (outcome === undefined) return { result: "failed", why: `${test} did not run` }
  return { result: outcome, why: outcome === "skipped" ? `${test}: this machine lacks what it needs` : test }
}
