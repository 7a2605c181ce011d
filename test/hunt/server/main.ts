/**
 * `npm run hunt -- --server --seeds 20`: the same programs on `dist/k3ts server` with the simulated runtime, a real
 * clock and real HTTP: the process is killed and started again, connections are cut, controllers lose their rights.
 * `--jobs` servers run at a time.
 */
import { parseArgs } from "node:util"
import { generate } from "../generate.ts"
import { runOnServer } from "./run.ts"

const { values } = parseArgs({
  options: {
    server: { type: "boolean" },
    seeds: { type: "string", default: "20" },
    from: { type: "string", default: "1" },
    jobs: { type: "string", default: "2" },
  },
})
const [from, count, jobs] = [Number(values.from), Number(values.seeds), Number(values.jobs)]
let [next, passed, failed, faults] = [from, 0, 0, 0]
const began = performance.now()

async function job(): Promise<void> {
  while (next < from + count) {
    const seed = next++
    const verdict = await runOnServer(generate(seed))
    faults += verdict.faults
    if (verdict.problems.length === 0) {
      passed++
      continue
    }
    failed++
    const told = verdict.problems.slice(0, 8).map((problem) => `  ${problem.slice(0, 1500)}`)
    process.stdout.write(`\nseed ${seed} fails on a server:\n${told.join("\n")}\n`)
  }
}

await Promise.all(Array.from({ length: jobs }, job))
const seconds = Math.round((performance.now() - began) / 1000)
process.stdout.write(`${passed} seeds passed on a server, ${failed} failed; ${faults} faults; ${seconds} s\n`)
process.exit(failed === 0 ? 0 : 1)
