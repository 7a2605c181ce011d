import { systemRandom } from "../../../../pkg/clock/random.ts"
import { TestClusterError } from "../caller.ts"

let ofProcess: number | undefined

/**
 * Returns the seed of clusters without the option: `K3TS_SEED`, or one that this process draws once. Errors of a
 * cluster (a wait, its end) name the seed, but most tests fail by an assertion that no library can observe: Bun and
 * Deno have no hook for it, a cluster that is disposed does not see why, `bun test` runs no exit handlers, and Deno's
 * do not see the exit code. So a drawn seed is printed once, at the first cluster.
 */
export function defaultSeed(): number {
  if (ofProcess === undefined) {
    const given = process.env["K3TS_SEED"]
    ofProcess =
      given === undefined || given === "" ? Math.floor(systemRandom.next() * 2 ** 31) : parseSeed(given, "K3TS_SEED")
    if (given === undefined || given === "") process.stderr.write(`Test clusters of this run: ${replay(ofProcess)}\n`)
  }
  return ofProcess
}

export const replay = (seed: number): string => `seed ${seed} (K3TS_SEED=${seed} replays it)`

/** @throws TestClusterError for an invalid seed */
export function parseSeed(value: string | number, name = "seed"): number {
  const seed = Number(value)
  if (!Number.isInteger(seed) || seed < 0 || seed > 2 ** 32 - 1)
    throw new TestClusterError(
      `Cannot use ${name} ${JSON.stringify(value)}: a seed is a whole number from 0 to ${2 ** 32 - 1}`,
    )
  return seed
}
