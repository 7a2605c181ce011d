/**
 * Runs the test by hand against any API server on this machine, also upstream's: `bun test/conformance/watch/main.ts
 * --port 6443 --token …`. Two servers give the same digest for the same seed and numbers.
 */
import { parseArgs } from "node:util"
import { runWatches } from "./run.ts"

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "6443" },
    token: { type: "string", default: "" },
    seed: { type: "string", default: "1" },
    writers: { type: "string", default: "100" },
    writes: { type: "string", default: "60" },
    watchers: { type: "string", default: "24" },
    // Upstream's server needs an etcd of 3.5.13 or later for it.
    "initial-events": { type: "string", default: "yes" },
  },
})
const { faults, ...figures } = await runWatches({
  target: { port: Number(values.port), token: values.token },
  seed: Number(values.seed),
  writers: Number(values.writers),
  writes: Number(values.writes),
  watchers: Number(values.watchers),
  initialEvents: values["initial-events"] === "yes",
})
for (const fault of faults.slice(0, 20)) console.error(fault)
console.log(JSON.stringify({ ...figures, faults: faults.length }))
process.exit(faults.length > 0 ? 1 : 0)
