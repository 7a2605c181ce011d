/**
 * `npm run hunt -- --twins --seeds 50`: a StatefulSet on several nodes and servers in memory, which fail at random; no
 * pod of it may run twice. `--from 17` begins at another seed.
 */
import { parseArgs } from "node:util"
import { runTwins } from "./run.ts"

const { values } = parseArgs({
  options: {
    twins: { type: "boolean" },
    seeds: { type: "string", default: "50" },
    from: { type: "string", default: "1" },
  },
})
const [count, from] = [Number(values.seeds), Number(values.from)]
const totals = { starts: 0, faults: 0, failed: 0 }
for (let seed = from; seed < from + count; seed++) {
  const { problems, starts, faults } = await runTwins(seed)
  totals.starts += starts
  totals.faults += faults
  if (problems.length === 0) continue
  totals.failed++
  process.stdout.write(`seed ${seed} fails:\n${problems.map((problem) => `  ${problem}`).join("\n")}\n`)
}
process.stdout.write(
  `${count - totals.failed} seeds passed, ${totals.failed} failed; ${totals.starts} starts of containers, ` +
    `${totals.faults} faults\n`,
)
process.exit(totals.failed === 0 ? 0 : 1)
