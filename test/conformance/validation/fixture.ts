import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { gunzipSync, gzipSync } from "node:zlib"
import type { Case, Verb } from "./cases.ts"

/**
 * The verdicts of Kubernetes' own server, which `hack/compare/record-validation.ts` has asked for: a line for each
 * base, and one for each case of it.
 */
const FILE = new URL("answers.txt.gz", import.meta.url)

export interface Recorded {
  readonly kind: string
  readonly name: string
  readonly cases: readonly (Case & { readonly verdict: string })[]
}

const LETTERS = { create: "c", update: "u", status: "s" } as const

export function writeFixture(all: readonly Recorded[]): void {
  const lines = all.flatMap(({ kind, name, cases }) => [
    `${kind}\t${name}`,
    ...cases.map(({ verb, path, change, verdict }) => ` ${LETTERS[verb]}${path}\t${change}\t${verdict}`),
  ])
  writeFileSync(FILE, gzipSync(lines.join("\n"), { level: 9 }))
}

export function readFixture(): readonly Recorded[] {
  if (!existsSync(FILE)) return []
  const verbs = Object.fromEntries(Object.entries(LETTERS).map(([verb, letter]) => [letter, verb as Verb]))
  const found: { kind: string; name: string; cases: (Case & { verdict: string })[] }[] = []
  for (const line of gunzipSync(readFileSync(FILE)).toString("utf8").split("\n")) {
    const [head = "", second = "", ...rest] = line.split("\t")
    if (line.startsWith(" "))
      found
        .at(-1)!
        .cases.push({ verb: verbs[head[1]!]!, path: head.slice(2), change: second, verdict: rest.join("\t") })
    else found.push({ kind: head, name: second, cases: [] })
  }
  return found
}
