/**
 * `npm run hunt -- --consistency --seeds 1000`: clients of three servers read, write and watch the same objects while
 * servers are lost and the network fails; each seed in a cluster of its own. `--from 17` begins at another seed.
 * `--etcd --seeds 20`: the same with `dist/k3ts server` and a real etcd on three machines; needs root.
 */
import { parseArgs } from "node:util"
import { runConsistency, type ConsistencyVerdict } from "./run.ts"

const { values } = parseArgs({
  options: {
    consistency: { type: "boolean" },
    etcd: { type: "boolean", default: false },
    seeds: { type: "string", default: "200" },
    from: { type: "string", default: "1" },
  },
})
const [count, from] = [Number(values.seeds), Number(values.from)]
/** A seed on machines takes about a minute. One that does not end is ended with its machines, and this process. */
const LONGEST_MS = 300_000
const onEtcd = async (seed: number): Promise<ConsistencyVerdict> => {
  const { runOnEtcd } = await import("./etcd/run.ts")
  const timer = setTimeout(() => {
    process.stdout.write(`seed ${seed} does not end\n`)
    process.kill(process.pid, "SIGTERM")
  }, LONGEST_MS)
  return runOnEtcd(seed).finally(() => clearTimeout(timer))
}
const run = values.etcd ? onEtcd : runConsistency
const totals = { operations: 0, faults: 0, elections: 0, failed: 0 }
for (let seed = from; seed < from + count; seed++) {
  const { problems, operations, faults, elections } = await run(seed)
  totals.operations += operations
  totals.faults += faults
  totals.elections += elections
  if (values.etcd) process.stdout.write(`seed ${seed}: ${operations} operations, ${faults} faults\n`)
  if (problems.length === 0) continue
  totals.failed++
  process.stdout.write(`seed ${seed} fails:\n${problems.map((problem) => `  ${problem}`).join("\n")}\n`)
}
process.stdout.write(
  `${count - totals.failed} seeds passed, ${totals.failed} failed; ${totals.operations} operations, ` +
    `${totals.faults} faults, ${totals.elections} elections\n`,
)
process.exit(totals.failed === 0 ? 0 : 1)
