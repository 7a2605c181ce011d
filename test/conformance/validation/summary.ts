import { BASES } from "./bases.ts"
import { casesOf, verdictsOn, type Target, type Verb } from "./cases.ts"
import { readFixture } from "./fixture.ts"

/** The number of cases of one kind and verb, and how many verdicts equal the recorded ones. */
export interface Count {
  readonly kind: string
  readonly verb: Verb
  cases: number
  agreeing: number
}

/** A case with different verdicts: that of Kubernetes (`wants`) and that of the server (`found`). */
export interface Difference {
  readonly title: string
  readonly wants: string
  readonly found: string
}

export interface Comparison {
  /** In the order of the bases, then create, update, status. */
  readonly counts: readonly Count[]
  readonly differences: readonly Difference[]
}

/**
 * Sends every recorded case to a server and compares the verdicts.
 * @throws Error when the fixture lacks a case: the bases or the declarations have changed, and it must be recorded anew
 */
export async function compareWithRecorded(target: Target): Promise<Comparison> {
  const recorded = new Map(readFixture().map(({ kind, name, cases }) => [`${kind}\t${name}`, cases]))
  const counts = new Map<string, Count>()
  const differences: Difference[] = []
  for (const [n, { base, cases }] of casesOf(BASES).entries()) {
    const wanted = new Map(
      recorded
        .get(`${base.kind}\t${base.name}`)
        ?.map(({ verb, path, change, verdict }) => [`${verb}${path}\t${change}`, verdict]),
    )
    const known = cases.filter(({ verb, path, change }) => wanted.has(`${verb}${path}\t${change}`))
    const verdicts = await verdictsOn(target, base, known, n)
    for (const [i, { verb, path, change }] of known.entries()) {
      const count = counts.get(`${base.kind} ${verb}`) ?? { kind: base.kind, verb, cases: 0, agreeing: 0 }
      counts.set(`${base.kind} ${verb}`, count)
      count.cases++
      const [wants, found] = [wanted.get(`${verb}${path}\t${change}`)!, verdicts[i]!]
      if (wants === found) count.agreeing++
      else differences.push({ title: `${base.kind} ${base.name}: ${verb} ${path} ${change}`, wants, found })
    }
  }
  return { counts: [...counts.values()], differences }
}

/** Returns the table of docs/compatibility.md, with a line for each kind. */
export function tableOf(counts: readonly Count[]): string {
  const verbs = ["create", "update", "status"] as const
  const cell = (of: readonly Count[]) => {
    const [cases, agreeing] = [sum(of.map((one) => one.cases)), sum(of.map((one) => one.agreeing))]
    return cases === 0 ? "–" : cases === agreeing ? `${cases}` : `${agreeing} of ${cases}`
  }
  const row = (title: string, of: readonly Count[]) =>
    `| ${[title, ...verbs.map((verb) => cell(of.filter((one) => one.verb === verb)))].join(" | ")} |`
  const kinds = [...new Set(counts.map(({ kind }) => kind))]
  return [
    "| kind | create | update | update of the status |",
    "| --- | --- | --- | --- |",
    ...kinds.map((kind) =>
      row(
        kind,
        counts.filter((one) => one.kind === kind),
      ),
    ),
    row("all", counts),
  ].join("\n")
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
