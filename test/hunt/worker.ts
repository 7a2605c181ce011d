/**
 * Runs the seeds that come in, a line each, and answers with a line of JSON each. Ended from outside where a seed takes
 * too long.
 */
import { createInterface } from "node:readline"
import { generate } from "./generate.ts"
import { runBothWays } from "./both-ways.ts"
import { run } from "./run.ts"
import { shrink } from "./shrink.ts"

/** The result of a seed. */
export interface Verdict {
  readonly seed: number
  readonly ms: number
  readonly megabytes: number
  readonly faults: number
  readonly problems: readonly string[]
  /** The shortest program that fails in the same way. */
  readonly program?: ReturnType<typeof generate>
}

const now = () => performance.now()
const shrinkSeconds = Number(process.argv[2] ?? 60)
const servers = Number(process.argv[3] ?? 1)
const runOne = process.argv[4] === "both-ways" ? runBothWays : run

for await (const line of createInterface({ input: process.stdin })) {
  const seed = Number(line)
  const began = now()
  const program = { ...generate(seed), ...(servers > 1 ? { servers } : {}) }
  const faults = program.steps.filter(
    (step) =>
      step.do === "fault" || step.do === "dropWatches" || step.do === "clockJump" || step.do === "forgetHistory",
  ).length
  const problems = await runOne(program)
  const verdict: Verdict = { seed, faults, problems, ms: now() - began, megabytes: process.memoryUsage().rss / 2 ** 20 }
  process.stdout.write(`${JSON.stringify(verdict)}\n`)
  if (problems.length === 0) continue
  const shrunk = await shrink({ program, problems }, { seconds: shrinkSeconds, now, run: runOne })
  process.stdout.write(
    `${JSON.stringify({ ...verdict, problems: shrunk.problems, program: shrunk.program } satisfies Verdict)}\n`,
  )
}
