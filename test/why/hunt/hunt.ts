import type { Overview } from "../../../pkg/why/cluster.ts"
import { between, pick } from "../../hunt/chance.ts"
import { ask } from "../situation.fixtures.ts"
import { FAULTS } from "./faults.ts"
import { startHealthy } from "./healthy.ts"

/** What came of one seed. */
export interface Outcome {
  readonly seed: number
  readonly fault: string
  /** Whether the right cause came first. */
  readonly right: boolean
  /** Causes that are wrong, and of which the answer was sure. */
  readonly wrong: readonly string[]
}

/** The longest time between fault and question, in minutes. */
const MOST_MINUTES = 12

/** Breaks a cluster that is well in one way, and asks why: of the object that is broken, and of the whole cluster. */
export async function huntOne(seed: number): Promise<Outcome> {
  const { cluster, apps, random } = await startHealthy(seed)
  try {
    const before = await cluster.kubectl("why")
    if (before.code !== 0) return { seed, fault: "none", right: false, wrong: [before.stdout] }
    const fault = pick(random, FAULTS)
    const { expected, ask: about } = await fault.apply(cluster, pick(random, apps), random)
    await cluster.advance(`${between(random, 2, MOST_MINUTES)}m`)
    const { answer } = await ask(cluster, about)
    const { groups } = JSON.parse((await cluster.kubectl("why -o json")).stdout) as Overview
    const [first] = answer.findings
    const wrong = [...(first === undefined ? [] : [first]), ...groups]
      .filter(({ cause }) => cause.sure && !expected.includes(cause.code))
      .map(({ cause }) => `${cause.code}: ${cause.message}`)
    const right = first !== undefined && expected.includes(first.cause.code)
    return {
      seed,
      fault: fault.name,
      right,
      wrong: right ? wrong : [...wrong, `said ${first?.cause.code ?? "nothing"}`],
    }
  } finally {
    await cluster.stop()
  }
}
