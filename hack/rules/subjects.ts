/**
 * Subjects of commits (docs/writing.md): up to 72 characters, with a capital first and no full stop. `bun
 * hack/rules/subjects.ts` prints those of this history that break it and ends with 1 if any does. Where there is no
 * repository, as in an archive of the sources, nothing is checked; of a shallow clone what it has.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"

/** Earlier commits were written before this rule. Source of the time: the committer's, which a rebase renews. */
const SINCE = "2026-11-29T18:00:00Z"
const MOST = 72

/** Returns what is wrong with a subject; undefined when nothing is. */
export function subjectFault(subject: string): string | undefined {
  const { length } = subject
  if (length > MOST) return `has ${length} characters; use at most ${MOST}, and the body for the rest`
  if (!/^\p{Lu}/u.test(subject)) return "begins with no capital; begin with an imperative: Refuse …"
  return subject.endsWith(".") ? "ends with a full stop; leave it out" : undefined
}

/** Returns the commits whose subjects are checked, the newest first: `<hash> <subject>`. */
export function commitsIn(folder: string, since: string): readonly string[] {
  const { status, stdout } = spawnSync("git", ["log", "--no-merges", `--since=${since}`, "--format=%h %s"], {
    cwd: folder,
    encoding: "utf8",
  })
  return status === 0 ? stdout.split("\n").filter((line) => line !== "") : []
}

if (import.meta.main) {
  const commits = commitsIn(join(import.meta.dirname, "../.."), SINCE)
  const faults = commits.flatMap((commit) => {
    const [hash = ""] = commit.split(" ", 1)
    const fault = subjectFault(commit.slice(hash.length + 1))
    return fault === undefined ? [] : [`${commit}: ${fault}`]
  })
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exit(1)
}
