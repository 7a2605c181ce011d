/**
 * The ledger: each entry of Kubernetes 1.36's conformance list, with our test that replaces it. There is one table for
 * each SIG beside this file, with one line for each entry and columns separated by tabs.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

export interface Entry {
  /** The name of the entry, as conformance reports use it. */
  readonly codename: string
  readonly testname: string
  /** The release of Kubernetes that it came with; several where it was changed. */
  readonly release: string
  /** Upstream's test, below test/e2e there. */
  readonly upstream: string
  readonly sig: string
  /** Our test: a file below test/, and the title of a test in it. Undefined if there is none. */
  readonly standIn?: { readonly file: string; readonly title: string }
  /** Why we have no such test. */
  readonly missing?: string
}

const FOLDER = import.meta.dirname

/** @throws Error naming the table and the line that does not have six columns */
export function readLedger(): readonly Entry[] {
  const tables = readdirSync(FOLDER).filter((name) => name.endsWith(".tsv"))
  return tables.toSorted().flatMap((table) =>
    readFileSync(join(FOLDER, table), "utf8")
      .trim()
      .split("\n")
      .slice(1)
      .map((line, i) => entryOf(line, `${table}:${i + 2}`)),
  )
}

function entryOf(line: string, place: string): Entry {
  const columns = line.split("\t")
  const [codename = "", testname = "", release = "", upstream = "", file = "", title = ""] = columns
  if (columns.length !== 6 || title === "") throw new Error(`${place} has ${columns.length} columns; wanted are six`)
  const sig = /^\[(sig-[a-z-]+)\]/.exec(codename)?.[1]
  if (sig === undefined) throw new Error(`${place}: ${codename} does not begin with its SIG`)
  const facts = { codename, testname, release, upstream, sig }
  return file === "-" ? { ...facts, missing: title } : { ...facts, standIn: { file, title } }
}

/** Returns the sentence of the README about the ledger. */
export const countOf = (entries: readonly Entry[]): string =>
  `${entries.filter(({ standIn }) => standIn !== undefined).length} of ${entries.length}`
