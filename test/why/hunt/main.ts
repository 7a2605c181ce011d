/**
 * `bun test/why/hunt/main.ts --seeds 1000`: breaks clusters at random in one known way and asks why. Prints what was
 * wrong, and how often the right cause came first. `--from 17` begins at another seed; with `--mends` each mend that is
 * named is tried in a copy, and one of them is made.
 */
import { parseArgs } from "node:util"
import { huntOne } from "./hunt.ts"

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    mends: { type: "boolean", default: false },
  },
})
const [seeds, from] = [Number(values.seeds), Number(values.from)]
/** After this many seeds a line says how it goes. */
const EACH = 100
let right = 0
let wrong = 0
let mends = 0
let useless = 0
for (let seed = from; seed < from + seeds; seed++) {
  const outcome = await huntOne(seed, { mends: values.mends })
  if (outcome.right) right++
  if (outcome.wrong.length > 0) {
    wrong++
    process.stdout.write(
      `seed ${seed}, ${outcome.fault}${outcome.right ? "" : " (not first)"}: ${outcome.wrong.join("\n    ")}\n`,
    )
  }
  mends += outcome.mends
  if (outcome.useless.length > 0) {
    useless++
    process.stdout.write(`seed ${seed}, ${outcome.fault}: useless ${outcome.useless.join("\n    ")}\n`)
  }
  const done = seed - from + 1
  if (done % EACH === 0)
    process.stdout.write(`${done} seeds so far: right ${right}, wrong ${wrong}, of ${mends} mends useless ${useless}\n`)
}
process.stdout.write(`${seeds} seeds: the right cause first in ${right}, a wrong one in ${wrong}\n`)
if (values.mends) process.stdout.write(`${mends} mends were tried; useless ones in ${useless} seeds\n`)
process.exit(right === seeds && wrong + useless === 0 ? 0 : 1)
