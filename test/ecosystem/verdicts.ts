/** The table of docs/ecosystem.md, which the runs write. */

export interface Verdict {
  readonly program: string
  readonly version: string
  /** What a user types to have it. */
  readonly from: string
  readonly shows: string
  readonly on: string
  /** `YYYY-MM-DD` */
  readonly date: string
  /** `runs`, or what was not as it must be. */
  readonly verdict: string
}

const HEAD = "| program | version | had by | what was done and seen | on | date | verdict |"
const RULE = "| --- | --- | --- | --- | --- | --- | --- |"

const row = ({ program, version, from, shows, on, date, verdict }: Verdict): string =>
  `| ${[program, version, `\`${from}\``, shows, on, date, verdict].map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`

/** The name of the program that a row is about. */
const programOf = (line: string): string => line.split("|")[1]!.trim()

/** Returns the rows of a page's table, by program. */
export function rowsOf(page: string): ReadonlyMap<string, string> {
  const rows = page.slice(page.indexOf(HEAD)).split("\n\n")[0]!.trimEnd().split("\n").slice(2)
  return new Map(rows.map((line) => [programOf(line), line]))
}

/**
 * Returns a page with these verdicts in the place of those about the same programs. Rows are in the order of
 * `programs`; one of a program that is not among them goes.
 * @throws Error where the page has no table
 */
export function withVerdicts(page: string, verdicts: readonly Verdict[], programs: readonly string[]): string {
  const start = page.indexOf(HEAD)
  if (start < 0) throw new Error(`The page has no table that begins with: ${HEAD}`)
  const end = page.indexOf("\n\n", start)
  const rows = new Map([
    ...rowsOf(page),
    ...verdicts.map((verdict): [string, string] => [verdict.program, row(verdict)]),
  ])
  const lines = programs.flatMap((name) => rows.get(name) ?? [])
  return page.slice(0, start) + [HEAD, RULE, ...lines].join("\n") + (end < 0 ? "\n" : page.slice(end))
}
