/**
 * `npm run hunt -- --seeds 1000`: random work with random faults, each seed in a cluster of its own, then quiet, then
 * the invariants. What fails is shortened and printed as a test. `--from 17` begins at another seed, `--jobs 2` says
 * how many run at a time, `--limit 60` how many seconds of the processor's time a seed may take. With `--servers 3`
 * each cluster has three servers that share a log. With `--both-ways` each seed runs with all probes, and without those
 * that change nothing, and the histories must be the same.
 */
import { spawn, type ChildProcess } from "node:child_process"
import { readFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { asTest } from "./shrink.ts"
import type { Verdict } from "./worker.ts"

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "200" },
    from: { type: "string", default: "1" },
    jobs: { type: "string", default: "2" },
    limit: { type: "string", default: "60" },
    shrink: { type: "string", default: "60" },
    servers: { type: "string", default: "1" },
    "both-ways": { type: "boolean", default: false },
  },
})
const [count, from, jobs, limit, shrinkSeconds] = [
  values.seeds,
  values.from,
  values.jobs,
  values.limit,
  values.shrink,
].map(Number) as [number, number, number, number, number]
/** The memory limit of one process, which runs many seeds. */
const MOST_MEGABYTES = 1500
/** On a busy machine a process may have to wait for the processor; this many times its limit at most. */
const MOST_WAITING = 10
/** The number of seeds after which a process ends, because what one seed leaves behind slows the next one down. */
const SEEDS_OF_PROCESS = 100
/** How many seeds are done between two lines that say how many passed. */
const SEEDS_OF_LINE = 25

let next = from
let failed = 0
let passed = 0
let faults = 0
const children = new Set<ChildProcess>()
const began = performance.now()

/** Returns how many seeds passed so far, and in which time. */
function soFar(): string {
  const seconds = Math.round((performance.now() - began) / 1000)
  return `${passed} seeds passed, ${failed} failed; ${faults} faults; ${seconds} s\n`
}

function counted(): void {
  const done = passed + failed
  if (done % SEEDS_OF_LINE === 0 && done < count) process.stdout.write(`so far ${soFar()}`)
}

function said({ seed, ms, megabytes, problems, program }: Verdict): void {
  failed++
  process.stdout.write(
    `\nseed ${seed} fails after ${Math.round(ms)} ms, ${Math.round(megabytes)} MB:\n${problems
      .slice(0, 5)
      .map((problem) => `  ${problem.slice(0, 1500)}`)
      .join("\n")}\n${program === undefined ? "" : asTest({ program, problems })}\n`,
  )
  counted()
}

/** Runs one process after another, until there are no more seeds. */
async function job(): Promise<void> {
  while (next < from + count) await someSeeds()
}

function someSeeds(): Promise<void> {
  return new Promise((resolve) => {
    const child: ChildProcess = spawn(
      process.execPath,
      [
        fileURLToPath(new URL("worker.ts", import.meta.url)),
        String(shrinkSeconds),
        values.servers,
        ...(values["both-ways"] ? ["both-ways"] : []),
      ],
      { stdio: ["pipe", "pipe", "inherit"] },
    )
    children.add(child)
    let seed: number | undefined
    let given = 0
    let shrinking: Verdict | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const arm = (seconds: number, why: () => Verdict) => {
      clearTimeout(timer)
      const usedBefore = processorSeconds(child)
      let rounds = 0
      const look = () => {
        if (processorSeconds(child) - usedBefore < seconds && ++rounds < MOST_WAITING) {
          timer = setTimeout(look, seconds * 1000)
          return
        }
        said(why())
        seed = undefined
        child.kill("SIGKILL")
      }
      timer = setTimeout(look, seconds * 1000)
    }
    const more = () => {
      if (given++ >= SEEDS_OF_PROCESS || next >= from + count) {
        seed = undefined
        clearTimeout(timer)
        child.stdin!.end()
        return
      }
      const now = (seed = next++)
      arm(limit, () => ({
        seed: now,
        ms: limit * 1000,
        megabytes: 0,
        faults: 0,
        problems: [`it takes longer than ${limit} s`],
      }))
      child.stdin!.write(`${seed}\n`)
    }
    createInterface({ input: child.stdout! }).on("line", (line) => {
      const verdict = JSON.parse(line) as Verdict
      const problems =
        verdict.megabytes > MOST_MEGABYTES
          ? [...verdict.problems, `it takes ${Math.round(verdict.megabytes)} MB`]
          : verdict.problems
      if (problems.length === 0) {
        passed++
        faults += verdict.faults
        counted()
        return more()
      }
      if (verdict.program !== undefined || verdict.problems.length === 0) {
        said({ ...verdict, problems })
        shrinking = undefined
        return more()
      }
      shrinking = verdict
      arm(shrinkSeconds + limit, () => shrinking!)
    })
    child.on("exit", (code) => {
      clearTimeout(timer)
      children.delete(child)
      if (seed !== undefined)
        said({ seed, ms: 0, megabytes: 0, faults: 0, problems: [`its process ended with exit code ${code}`] })
      resolve()
    })
    more()
  })
}

/** Returns the CPU time that a process has used; Infinity where /proc does not tell it. */
function processorSeconds({ pid }: ChildProcess): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    // After the name, which may hold anything: utime and stime are the 12th and 13th, in hundredths of a second.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return Infinity
  }
}

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    process.stdout.write(`ended early: ${soFar()}`)
    for (const child of children) child.kill("SIGKILL")
    process.exit(1)
  })
await Promise.all(Array.from({ length: jobs }, job))
process.stdout.write(soFar())
process.exit(failed === 0 ? 0 : 1)
