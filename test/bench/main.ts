import { mkdirSync, writeFileSync } from "node:fs"
import { cpus, totalmem } from "node:os"
import { acrossNodes } from "./network/across-nodes.ts"
import { admission } from "./api/admission.ts"
import { agents } from "./node/agents.ts"
import { api } from "./api/api.ts"
import { cel } from "./api/cel.ts"
import { customResources } from "./api/custom-resources.ts"
import { datastore, postgres } from "./store/datastore.ts"
import { dns } from "./network/dns.ts"
import { forecast, largestForecast } from "./testing/forecast.ts"
import { frontDoor } from "./api/front-door.ts"
import { reached, table, type Benchmark, type Figure } from "./figure.ts"
import { history } from "./store/history.ts"
import { ingress } from "./network/ingress.ts"
import { kubectl } from "./kubectl/kubectl.ts"
import { networkPolicy } from "./network/network-policy.ts"
import { node } from "./node/node.ts"
import { nodeSoak } from "./node/node-soak.ts"
import { podNetwork } from "./network/pod-network.ts"
import { services } from "./network/services.ts"
import { snapshot } from "./store/snapshot.ts"
import { soak } from "./node/soak.ts"
import { largest, testing } from "./testing/testing.ts"
import { watch } from "./api/watch.ts"

/**
 * `npm run bench [-- NAME…]`: every benchmark but the soaks, `largest` and `largest-forecast`, or those named. Prints a
 * table and writes the figures as JSON. A number is the length of a soak in minutes.
 */
const isNumber = (word: string) => /^\d+$/.test(word)
const asked = process.argv.slice(2).filter((word) => !isNumber(word))
const minutes = Number(process.argv.slice(2).find(isNumber) ?? 3)
const ALWAYS: readonly Benchmark[] = [
  node,
  agents,
  api,
  frontDoor,
  watch,
  testing,
  forecast,
  cel,
  customResources,
  admission,
  kubectl,
  ingress,
  networkPolicy,
  podNetwork,
  acrossNodes,
  dns,
  services,
  snapshot,
  history,
  datastore,
  postgres,
]
/** These take long and run only when they are named. */
const NAMED: readonly Benchmark[] = [soak(minutes), nodeSoak(minutes), largest, largestForecast]
const BENCHMARKS = [...ALWAYS, ...NAMED.filter(({ name }) => asked.includes(name))]
const unknown = asked.filter((name) => !BENCHMARKS.some((benchmark) => benchmark.name === name))
if (unknown.length > 0) {
  console.error(
    `No benchmark is named ${unknown.join(", ")}; there are ${[...ALWAYS, ...NAMED].map(({ name }) => name).join(", ")}.`,
  )
  process.exit(2)
}
const figures: Figure[] = []
let failed = false
for (const benchmark of BENCHMARKS.filter(({ name }) => asked.length === 0 || asked.includes(name))) {
  const missing = benchmark.needs?.()
  if (missing !== undefined) {
    console.error(`SKIPPED: benchmark ${benchmark.name} ${missing}`)
    continue
  }
  try {
    for await (const figure of benchmark.run()) {
      figures.push(figure)
      console.error(`${figure.name}: ${figure.value.toFixed(2)} ${figure.unit}`)
    }
  } catch (err) {
    failed = true
    console.error(`FAILED: benchmark ${benchmark.name}:`, err)
  }
}
console.log(`\n${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Bun ${Bun.version}\n`)
console.log(table(figures))
mkdirSync("dist", { recursive: true })
const json = JSON.stringify(
  {
    cores: cpus().length,
    memoryBytes: totalmem(),
    figures: figures.map((figure) => ({ ...figure, reached: reached(figure) })),
  },
  undefined,
  2,
)
writeFileSync("dist/bench.json", `${json}\n`)
console.log(`\n${json}`)
process.exit(failed ? 1 : 0)
