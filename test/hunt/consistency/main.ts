/**
 * `npm run hunt -- --consistency --seeds 1000`: clients of three servers read, write and watch the same objects while
 * servers are lost and the network fails; each seed in a cluster of its own. `--from 17` begins at another seed.
 */
import { parseArgs } from "node:util"
import { runConsistency } from "./run.ts"

const { values } = parseArgs({
  options: {
    consistency: { type: "boolean" },
    seeds: { type: "string", default: "200" },
    from: { type: "string", default: "1" },
  },
})
const [count, from] = [Number(values.seeds), Number(values.from)]
const totals = { operations: 0, faults: 0, elections: 0, failed: 0 }
for (let seed = from; seed < from + count; seed++) {
  const { problems, operations, faults, elections } = await runConsistency(seed)
  totals.operations += operations
  totals.faults += faults
  totals.elections += elections
  if (problems.length === 0) continue
  totals.failed++
  process.stdout.write(`seed ${seed} fails:\n${problems.map((problem) => `  ${problem}`).join("\n")}\n`)
}
process.stdout.write(
  `${count - totals.failed} seeds passed, ${totals.failed} failed; ${totals.operations} operations, ` +
    `${totals.faults} faults, ${totals.elections} elections\n`,
)
process.exit(totals.failed === 0 ? 0 : 1)
